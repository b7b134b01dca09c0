/** The checks that every mutant has to face: scenarios run on a real Redis, until the first difference, the likeliest first. */

import type { StoreScripts } from '../../src/state/store/redis/redis-store';
import type { ExpectedBucket, ExpectedCall, ExpectedScenario, Reads } from './scenario';

/** Scenarios that are sent to Redis together, with keys of their own each. */
export interface Batch {
  readonly name: string;
  readonly scenarios: readonly ExpectedScenario[];
}

/** Sends commands in their order and resolves to their replies; an error reply is an answer like any other. */
export type SendAll = (commands: readonly (readonly string[])[]) => Promise<readonly unknown[]>;

/** A command, and what is wrong with its reply if anything is. */
interface Probe {
  readonly command: readonly string[];
  readonly fault?: (reply: unknown) => string | undefined;
}

/** The longest that a loaded machine lets pass between a write and the look at its TTL. */
const TTL_SLACK_MS = 800;

const LATE = 'TTL, by a millisecond';
const LOW = 'TTL, too low';
const LATE_TRIES = 8;

const NO_KEY = -2;
const NO_EXPIRY = -1;

/** Calls of a piece: enough that what is sent beside them does not count, few enough that a fault is soon found. */
const PIECE_CALLS = 16;

/** The scenarios in small pieces, in the order in which to try them: what found the last fault comes first, since mutants of one function die of one scenario. */
export class KillOrder {
  private readonly pieces: Batch[];

  constructor(batches: readonly Batch[]) {
    this.pieces = batches.flatMap(inPieces);
  }

  /** What the scripts do wrong, seen first; undefined if nothing. `among`: the batches to try; default: all. */
  async findFault(
    scripts: StoreScripts,
    sendAll: SendAll,
    { among = () => true }: { readonly among?: ((batch: Batch) => boolean) | undefined } = {},
  ): Promise<string | undefined> {
    // A copy: of two mutants that are tried at a time, either moves a piece.
    for (const piece of this.pieces.filter(among)) {
      const fault = await findFault(scripts, piece, sendAll);
      if (fault === undefined) continue;
      this.pieces.splice(this.pieces.indexOf(piece), 1);
      this.pieces.unshift(piece);
      return fault;
    }
    return undefined;
  }
}

/** In the order of the batch; a scenario is never divided. */
function inPieces({ name, scenarios }: Batch): readonly Batch[] {
  const pieces: { readonly name: string; readonly scenarios: ExpectedScenario[] }[] = [];
  let calls = Infinity;
  for (const scenario of scenarios) {
    if (calls >= PIECE_CALLS) {
      pieces.push({ name, scenarios: [] });
      calls = 0;
    }
    pieces.at(-1)!.scenarios.push(scenario);
    calls += scenario.calls.length;
  }
  return pieces;
}

async function findFault(scripts: StoreScripts, batch: Batch, sendAll: SendAll): Promise<string | undefined> {
  let fault = await faultIn(scripts, batch, sendAll);
  // A batch that looks at few TTLs may look at each a millisecond late, and on a loaded machine far later: a real fault is there every time.
  for (let tries = 1; (fault === LATE || fault?.endsWith(LOW) === true) && tries < LATE_TRIES; tries += 1)
    fault = await faultIn(scripts, batch, sendAll);
  return fault === undefined ? undefined : `${batch.name}: ${fault}`;
}

async function faultIn(scripts: StoreScripts, { scenarios }: Batch, sendAll: SendAll): Promise<string | undefined> {
  const latest = new LatestTtl();
  const probes: readonly Probe[] = [
    ...[['FLUSHALL'], ['CONFIG', 'RESETSTAT']].map((command) => ({ command })),
    ...scenarios.flatMap((scenario) => scenarioProbes(scenario, scripts, latest)),
    commandCountProbe(scenarios),
  ];
  const replies = await sendAll(probes.map(({ command }) => command));
  for (const [i, { fault }] of probes.entries()) {
    const found = fault?.(replies[i]);
    if (found !== undefined) return found;
  }
  return latest.fault();
}

function scenarioProbes({ name, setUp, setUpKeys, calls }: ExpectedScenario, scripts: StoreScripts, latest: LatestTtl): readonly Probe[] {
  const expiries = new Map<string, unknown>(setUpKeys.map((key) => [key, NO_EXPIRY]));
  return [
    ...setUp.map((command) => ({ command })),
    ...calls.flatMap((call, i) => {
      const probes = callProbes({ call, scripts, expiries, latest });
      return probes.map(({ command, fault }) => ({ command, fault: named(fault, `${name}, call ${i + 1}`) }));
    }),
  ];
}

function named(fault: Probe['fault'], name: string): (reply: unknown) => string | undefined {
  return (reply) => {
    const found = fault?.(reply);
    return found === undefined ? undefined : `${name}: ${found}`;
  };
}

interface CallProbesInput {
  readonly call: ExpectedCall;
  readonly scripts: StoreScripts;
  /** Of each key, as last seen: a key that is not written keeps it to the millisecond. */
  readonly expiries: Map<string, unknown>;
  readonly latest: LatestTtl;
}

function callProbes({ call: { nowUs, script, args, reply, buckets }, scripts, expiries, latest }: CallProbesInput): readonly Probe[] {
  return [
    { command: ['SET', 'test-clock-us', String(nowUs)] },
    { command: ['EVALSHA', scripts[script].sha, ...args], fault: (given) => replyFault(given, reply) },
    ...(buckets.length === 0
      ? []
      : [{ command: ['MGET', ...buckets.map(({ key }) => key)], fault: (given: unknown) => valueFault(given, buckets) }]),
    ...buckets.flatMap(({ key, change }): readonly Probe[] => [
      ...(typeof change === 'string' || change.mayBeIncreased
        ? []
        : [{ command: ['PTTL', key], fault: (given: unknown) => latest.see(Number(given) - change.ttlMs) }]),
      { command: ['PEXPIRETIME', key], fault: (given) => expiryFault({ key, change, given, expiries }) },
    ]),
  ];
}

function replyFault(given: unknown, expected: readonly number[]): string | undefined {
  if (given instanceof Error) return `error ${given.message.slice(0, 80)}`;
  return String(given) === String(expected) ? undefined : 'reply';
}

function valueFault(given: unknown, buckets: readonly ExpectedBucket[]): string | undefined {
  const values = given as readonly (Buffer | null)[];
  return buckets.every(({ value }, i) => (values[i]?.toString('latin1') ?? null) === value) ? undefined : 'stored state';
}

interface ExpiryFaultInput extends Pick<ExpectedBucket, 'key' | 'change'> {
  readonly given: unknown;
  readonly expiries: Map<string, unknown>;
}

function expiryFault({ key, change, given, expiries }: ExpiryFaultInput): string | undefined {
  const before = expiries.get(key) ?? NO_KEY;
  expiries.set(key, given);
  if (change === 'kept' || change === 'rewritten' || change === 'increased')
    return given === before ? undefined : 'a key was written, made or lost that was to be left alone';
  if (change === 'untimed') return given === NO_EXPIRY ? undefined : 'a budget with a TTL';
  return change === 'deleted' && given !== NO_KEY ? 'a key was left' : undefined;
}

/**
 * How far TTLs lie below the expected. Some time passes before each is looked at, but not each time: of many, the
 * highest one has to be the expected to the millisecond.
 */
class LatestTtl {
  private highestMs = Number.NEGATIVE_INFINITY;

  see(aboveMs: number): string | undefined {
    this.highestMs = Math.max(this.highestMs, aboveMs);
    if (aboveMs > 0) return 'TTL';
    return aboveMs < -TTL_SLACK_MS ? LOW : undefined;
  }

  fault(): string | undefined {
    return this.highestMs < 0 && this.highestMs > Number.NEGATIVE_INFINITY ? LATE : undefined;
  }
}

/** Each bucket is read once by each call, written once by each that changes it, and deleted only if it is there. */
function commandCountProbe(scenarios: readonly ExpectedScenario[]): Probe {
  const calls = scenarios.flatMap((scenario) => scenario.calls);
  const changes = calls.flatMap((call) => call.buckets.map(({ change }) => change));
  const changedBy = (...kinds: readonly unknown[]) => changes.filter((change) => kinds.includes(change)).length;
  const unsure = changes.filter((change) => typeof change !== 'string' && change.mayBeIncreased).length;
  const written = changes.length - changedBy('kept', 'deleted');
  const readsWith = (command: keyof Reads) => calls.reduce((sum, { reads }) => sum + reads[command], 0);
  const expected: Readonly<Record<string, number>> = {
    // Each call reads the clock, and had it set.
    get: calls.length + readsWith('get'),
    // Its buckets are looked at after each call.
    mget: calls.filter(({ buckets }) => buckets.length > 0).length + readsWith('mget'),
    exists: readsWith('exists'),
    del: changedBy('deleted'),
  };
  return {
    command: ['INFO', 'commandstats'],
    fault: (stats) => {
      const [set, increased] = [callsOf('set', String(stats)) - calls.length, callsOf('incrby', String(stats))];
      const isBetween = increased >= changedBy('increased') && increased <= changedBy('increased') + unsure;
      const wrong = Object.entries(expected).filter(([command, times]) => callsOf(command, String(stats)) !== times);
      if (set + increased !== written || !isBetween) wrong.push(['set and incrby', written]);
      return wrong.length === 0 ? undefined : `number of commands: ${wrong.map(([command]) => command).join(', ')}`;
    },
  };
}

function callsOf(command: string, stats: string): number {
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}
