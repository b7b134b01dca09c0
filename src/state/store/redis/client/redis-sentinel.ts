/** Finds the current Redis primary by asking the sentinels that watch it. */

import { describeAddress, PORT_MAX } from './address';
import { readList } from './read-reply';
import { ReplyError } from './reply-error';
import { describeError, errorCodeOf } from './redis-errors';
import { RedisConnection, type ConnectionState, type RedisConnectionOptions, type RedisLocator, type RedisPlace } from './redis-connection';

export interface RedisSentinelsOptions {
  /** The name of the primary in the sentinels' configuration. */
  readonly masterName: string;
  readonly sentinels: readonly RedisAddress[];
  /** Credentials for the sentinels. */
  readonly auth: Pick<RedisConnectionOptions['server'], 'username' | 'password'>;
  /** Socket options for sentinels and the primary. */
  readonly toSocket: (address: RedisAddress) => RedisPlace['socket'];
  /** Description of the trusted authorities, for the log. */
  readonly trusted?: string;
  /** Deadline of a connection to one of them, in milliseconds. */
  readonly connectTimeoutMs: number;
}

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** A sentinel that does not answer within this time is ignored. */
const SENTINEL_SILENCE_MS = 500;

/** Commands in flight: one for a dial, the next one, one that checks whether the primary has moved, and a spare one. */
const QUESTIONS_MAX = 4;

/**
 * Asks all sentinels at once and uses the address that most of them name, so that a sentinel that is cut off from the others, and
 * still names the old primary, is outvoted.
 */
export class RedisSentinels implements RedisLocator {
  private readonly sentinels: readonly Sentinel[];

  constructor(private readonly options: RedisSentinelsOptions) {
    this.sentinels = options.sentinels.map((address) => new Sentinel(address, options));
  }

  /** Waits for a majority that agrees; without one, for the slowest answer. */
  async locate(): Promise<RedisPlace> {
    const { address, count } = await this.askAll();
    return { address: describeAddress(address), socket: this.options.toSocket(address), isAgreed: this.isMajority(count) };
  }

  close(): void {
    for (const sentinel of this.sentinels) sentinel.close();
  }

  private isMajority(count: number): boolean {
    return count > this.sentinels.length / 2;
  }

  private askAll(): Promise<Vote> {
    return new Promise((resolve, reject) => {
      const votes: Votes = new Map();
      const pending = this.sentinels.map(async (sentinel) => {
        const answer = await sentinel.ask();
        if (answer.address === undefined) return answer.problem;
        const vote = countVote(votes, answer.address);
        if (this.isMajority(vote.count)) resolve(vote);
        return undefined;
      });
      void Promise.all(pending).then((problems) => {
        const winner = mostNamed(votes);
        if (winner === undefined) reject(new Error(`no sentinel names a primary: ${problems.join('; ')}`));
        else resolve(winner);
      });
    });
  }
}

/** Number of sentinels that name an address. */
interface Vote {
  readonly address: RedisAddress;
  readonly count: number;
}

/** By formatted address. */
type Votes = Map<string, Vote>;

function countVote(votes: Votes, address: RedisAddress): Vote {
  const key = describeAddress(address);
  const vote = { address, count: (votes.get(key)?.count ?? 0) + 1 };
  votes.set(key, vote);
  return vote;
}

/** A tie always has the same winner, so that Weir does not alternate between two addresses. */
function mostNamed(votes: Votes): Vote | undefined {
  const [winner] = [...votes.entries()].sort(([a, { count: ofA }], [b, { count: ofB }]) => ofB - ofA || (a < b ? -1 : 1));
  return winner?.[1];
}

type Answer = { readonly address: RedisAddress } | { readonly address?: undefined; readonly problem: string };

/** One sentinel, on a permanent connection like the one to Redis. */
class Sentinel {
  private readonly name: string;
  private readonly question: readonly string[];
  private readonly connection: RedisConnection;
  private cause: string | undefined;
  /** Resolves after the first connection attempt, whatever its outcome. */
  private readonly tried: Promise<void>;

  constructor(address: RedisAddress, { masterName, auth, toSocket, connectTimeoutMs, trusted }: RedisSentinelsOptions) {
    this.name = describeAddress(address);
    this.question = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName];
    let onTried: () => void;
    this.tried = new Promise((resolve) => {
      onTried = resolve;
    });
    this.connection = new RedisConnection({
      server: { ...auth, socket: () => toSocket(address) },
      connectTimeoutMs,
      ...(trusted !== undefined && { trusted }),
      silenceMs: SENTINEL_SILENCE_MS,
      inFlightMax: QUESTIONS_MAX,
      greetings: [{ command: this.question, read: readAddress }],
      onConnection: ({ cause }: ConnectionState) => {
        this.cause = cause;
        onTried();
      },
    });
    void this.connection.connect({ waitMs: 0 });
  }

  /** Bounded by the first connection attempt, then by the silence limit of the connection. */
  async ask(): Promise<Answer> {
    await this.tried;
    try {
      return (
        (await this.connection.send(this.question, readAddress)) ?? {
          problem: `${this.name} does not know the master ${String(this.question[2])}`,
        }
      );
    } catch (error) {
      // The cause of the lost connection is more specific than the missing connection.
      const problem = errorCodeOf(error) !== undefined ? describeError(error) : (this.cause ?? describeError(error));
      return { problem: `${this.name}: ${problem}` };
    }
  }

  close(): void {
    this.connection.close();
  }
}

/**
 * Undefined for null, the reply for an unknown name.
 *
 * @throws ReplyError if it is neither null nor an address
 */
function readAddress(reply: unknown): Answer | undefined {
  if (reply === null) return undefined;
  const [host, digits, ...more] = readList(reply);
  const port = typeof digits === 'string' && /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  if (typeof host !== 'string' || host === '' || port < 1 || port > PORT_MAX || more.length > 0)
    throw new ReplyError('it is not the address of a server');
  return { address: { host, port } };
}
