/** The sentinels that watch a Redis primary and its replicas: asked where the primary is now. */

import { ErrorReply } from 'redis';
import { describeAddress } from './describe-address';
import {
  describeError,
  RedisConnection,
  type ConnectionState,
  type RedisConnectionOptions,
  type RedisLocator,
  type RedisPlace,
} from './redis-connection';

export interface RedisSentinelsOptions {
  /** The name under which the sentinels watch the primary. */
  readonly masterName: string;
  readonly sentinels: readonly RedisAddress[];
  /** Who we are to the sentinels. */
  readonly auth: Pick<RedisConnectionOptions['server'], 'username' | 'password'>;
  /** How sentinels, and the primary, are connected to. */
  readonly toSocket: (address: RedisAddress) => RedisPlace['socket'];
  /** Longest wait for a connection to one of them, in milliseconds. */
  readonly connectTimeoutMs: number;
}

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

/** A sentinel that leaves a question unanswered for so long is done without. */
const SENTINEL_SILENCE_MS = 500;

/** The question of a dial, the one after it, the one whether the primary has moved, and one to spare. */
const QUESTIONS_MAX = 4;

/**
 * All are asked at once and the address that most of them name counts, so that one that was cut off from the others, and
 * still names the primary of before, is outvoted.
 */
export class RedisSentinels implements RedisLocator {
  private readonly sentinels: readonly Sentinel[];

  constructor(private readonly options: RedisSentinelsOptions) {
    this.sentinels = options.sentinels.map((address) => new Sentinel(address, options));
  }

  /** Takes as long as the answers of more than half of them that agree; without such, as the slowest. */
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
      const asked = this.sentinels.map(async (sentinel) => {
        const answer = await sentinel.ask();
        if (answer.address === undefined) return answer.problem;
        const vote = countVote(votes, answer.address);
        if (this.isMajority(vote.count)) resolve(vote);
        return undefined;
      });
      void Promise.all(asked).then((problems) => {
        const winner = mostNamed(votes);
        if (winner === undefined) reject(new Error(`no sentinel names a primary: ${problems.join('; ')}`));
        else resolve(winner);
      });
    });
  }
}

/** How many have named an address. */
interface Vote {
  readonly address: RedisAddress;
  readonly count: number;
}

/** By address as people write it. */
type Votes = Map<string, Vote>;

function countVote(votes: Votes, address: RedisAddress): Vote {
  const key = describeAddress(address);
  const vote = { address, count: (votes.get(key)?.count ?? 0) + 1 };
  votes.set(key, vote);
  return vote;
}

/** Where two have as many votes, always the same one: we must not change from one to the other and back. */
function mostNamed(votes: Votes): Vote | undefined {
  const [winner] = [...votes.entries()].sort(([a, { count: ofA }], [b, { count: ofB }]) => ofB - ofA || (a < b ? -1 : 1));
  return winner?.[1];
}

type Answer = { readonly address: RedisAddress } | { readonly address?: undefined; readonly problem: string };

/** One sentinel, on a connection that is kept and found again like the one to Redis. */
class Sentinel {
  private readonly name: string;
  private readonly question: readonly string[];
  private readonly connection: RedisConnection;
  private cause: string | undefined;
  /** Resolves when the first attempt to connect has an outcome. */
  private readonly tried: Promise<void>;

  constructor(address: RedisAddress, { masterName, auth, toSocket, connectTimeoutMs }: RedisSentinelsOptions) {
    this.name = describeAddress(address);
    this.question = ['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName];
    let onTried: () => void;
    this.tried = new Promise((resolve) => {
      onTried = resolve;
    });
    this.connection = new RedisConnection({
      server: { ...auth, socket: toSocket(address) },
      connectTimeoutMs,
      silenceMs: SENTINEL_SILENCE_MS,
      inFlightMax: QUESTIONS_MAX,
      greetings: [this.question],
      onConnection: ({ cause }: ConnectionState) => {
        this.cause = cause;
        onTried();
      },
    });
    void this.connection.connect({ waitMs: 0 });
  }

  /** Bounded: by the first attempt to connect, then by the silence that a connection is left after. */
  async ask(): Promise<Answer> {
    await this.tried;
    try {
      const reply = await this.connection.send(this.question);
      return readAddress(reply) ?? { problem: `${this.name} knows none of the name ${String(this.question[2])}` };
    } catch (error) {
      // Why the connection was lost says more than that there is none.
      const problem = error instanceof ErrorReply ? describeError(error) : (this.cause ?? describeError(error));
      return { problem: `${this.name}: ${problem}` };
    }
  }

  close(): void {
    this.connection.close();
  }
}

/** Undefined for the null that stands for an unknown name. */
function readAddress(reply: unknown): Answer | undefined {
  const [host, port] = Array.isArray(reply) ? (reply as unknown[]) : [];
  return typeof host === 'string' && typeof port === 'string' ? { address: { host, port: Number(port) } } : undefined;
}
