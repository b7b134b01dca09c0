/** One round of one row: puts a load on a server, and takes what it cost the server and its Redis, and every hit admitted. */

import type { TestClient } from '../../test/support/redis/redis-store';
import { RlsClient } from '../../test/support/clients/rls-client';
import { readMetrics, total } from '../../test/faults/run/weir-readings';
import { runH2load } from '../load/h2load';
import type { Quantiles } from '../load/latencies';
import type { LoadJob, LoadResult } from '../load/run-load';
import type { Contender, ContenderName, MeteredRedis } from '../servers/contenders';
import type { OneEvalshaJob, OneEvalshaResult } from '../servers/one-evalsha';
import type { Cores } from '../support/cores';
import { processorTimeUs, residentBytes } from '../support/process-usage';
import { countCalls, resetCounters } from '../support/redis-figures';
import type { WorkerProcess } from '../support/worker-process';
import { allowedMost, chargedMost, overGrant, peekAtWatched } from './admitted-hits';
import { CONNECTIONS, loadId, SATURATING_STREAMS, WORKLOADS, type OpenRate, type Row, type Workload } from './rows';

export interface RowFigures {
  readonly decisions: number;
  readonly denied: number;
  /** Errors, calls without an answer, and of RedisStore alone decisions that it could not make. */
  readonly failed: number;
  readonly perSecond: number;
  /** Processor time of the server for each decision, in microseconds. */
  readonly serverUs: number;
  /** Processor time of the server in cores: 1 is one core that did nothing else. */
  readonly busy: number;
  readonly residentBytes: number;
  /** Processor time of Redis for each decision, in microseconds; undefined without a Redis. */
  readonly redisUs?: number;
  /** Commands that Redis was sent, for each decision. */
  readonly redisCalls?: number;
  /** Hits admitted beyond those allowed, as a part of those allowed; undefined where they cannot be counted. */
  readonly overGrant?: number;
  /** Decisions made without Redis. */
  readonly fallbacks?: number;
  readonly latencyMs?: Quantiles;
  readonly lateMs?: Quantiles;
  /** Of an open loop: the time of an answer, without the lateness of the generator. */
  readonly answerMs?: Quantiles;
  /** The part of the time in which the server was ready to run and waited for a core; undefined where it was not measured. */
  readonly waited?: number;
  /** Of an open loop: the calls that were to be made in a second. */
  readonly rate?: number;
}

export interface RowMeterOptions {
  readonly contenders: ReadonlyMap<ContenderName, Contender>;
  readonly generator: WorkerProcess<LoadJob, LoadResult>;
  readonly oneEvalsha: WorkerProcess<OneEvalshaJob, OneEvalshaResult>;
  /** Of RedisStore alone. */
  readonly redis: MeteredRedis;
  readonly cores: Cores | undefined;
}

/** What any generator says of its load. */
interface Outcome {
  readonly decisions: number;
  readonly denied: number;
  readonly failed: number;
  readonly perSecond: number;
  readonly elapsedMs: number;
  readonly result?: LoadResult;
}

interface Metered {
  readonly figures: RowFigures;
  /** Hits admitted by key. */
  readonly admittedOfWatched: readonly number[];
}

const HALF = 0.5;

const COMPILE_CALLS = 20_000;
const COMPILE_MS_MAX = 10_000;
const FILL_MS_MAX = 60_000;

/** A load that keeps a server busy. */
const SATURATING = {
  connections: CONNECTIONS,
  load: { kind: 'closed', streams: SATURATING_STREAMS },
  asked: WORKLOADS.many.asked,
  keys: { count: WORKLOADS.many.keyCount, order: { seed: 0 } },
  watchedBelow: 0,
} as const satisfies Partial<LoadJob>;

/** Commands of the bench itself. */
const OWN_COMMANDS = new Set(['info', 'config|resetstat', 'config', 'command', 'command|info']);

export class RowMeter {
  private readonly clients = new Map<Contender, RlsClient>();
  /** Of buckets that run dry: when the first call was made, and the hits admitted since. */
  private readonly dry = new Map<Contender, { readonly sinceMs: number; admitted: number }>();
  /** Decisions a second in the first closed loop of each server. */
  private readonly saturation = new Map<Row['contender'], number>();
  private seed = 0;

  constructor(private readonly options: RowMeterOptions) {}

  /** Makes enough calls of each server that its code is compiled: uncompiled calls cost many times as much. */
  async compile(): Promise<void> {
    for (const contender of this.options.contenders.values()) {
      await this.ask(contender, { ...SATURATING, durationMs: COMPILE_MS_MAX, callsMax: COMPILE_CALLS });
    }
  }

  /** Makes a bucket for every key: rounds then measure updates, as a server that has run for a while makes them. */
  async fill(): Promise<void> {
    const { asked, keyCount, limit }: Workload = WORKLOADS.many;
    const keys = { count: keyCount, order: 'in_turn' } as const;
    for (const name of ['embedded', 'redis', 'redis_newest', 'target'] as const) {
      const contender = this.options.contenders.get(name);
      if (contender !== undefined) await this.ask(contender, { ...SATURATING, durationMs: FILL_MS_MAX, callsMax: keyCount, keys });
    }
    const callers = CONNECTIONS * SATURATING_STREAMS;
    await this.options.oneEvalsha.run({
      callers,
      durationMs: FILL_MS_MAX,
      decisionsMax: keyCount,
      entryKey: asked.entryKeys[0]!,
      limit,
      keys,
    });
  }

  /** A round whose figures are not reported. The hits that it admits are counted all the same. */
  async warmUp(row: Row, durationMs: number): Promise<void> {
    await this.meterAny(row, durationMs);
  }

  async measure(row: Row, durationMs: number): Promise<RowFigures> {
    const figures = await this.meterAny(row, durationMs);
    const isSaturating = loadId(row.load) === `${CONNECTIONS}x${SATURATING_STREAMS}` && row.workload === 'many';
    if (isSaturating && !this.saturation.has(row.contender)) this.saturation.set(row.contender, figures.perSecond);
    return figures;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }

  private async meterAny(row: Row, durationMs: number): Promise<RowFigures> {
    const contender = row.contender === 'one_evalsha' ? undefined : this.options.contenders.get(row.contender);
    if (contender?.weir !== undefined) return this.meterWeir(contender, row, durationMs);
    return (await this.meter(row, durationMs, contender)).figures;
  }

  /** With what a Weir tells about itself: its buckets before and after, and its decisions without Redis. */
  private async meterWeir(contender: Contender, row: Row, durationMs: number): Promise<RowFigures> {
    const workload: Workload = WORKLOADS[row.workload];
    const fallbacksBefore = await readFallbacks(contender);
    const startMs = performance.now();
    const before = workload.runsDry === true ? [] : await peekAtWatched(this.clientOf(contender), workload);
    const { figures, admittedOfWatched: admitted } = await this.meter(row, durationMs, contender);
    const fallbacks = (await readFallbacks(contender)) - fallbacksBefore;
    if (workload.runsDry === true)
      return { ...figures, fallbacks, overGrant: this.overGrantOfDry(contender, workload, { admitted: admitted[0] ?? 0, startMs }) };
    const after = await peekAtWatched(this.clientOf(contender), workload);
    // Redis learns of decisions without it later: what they charged can't be read from its buckets now.
    if (fallbacks > 0) return { ...figures, fallbacks };
    const elapsedSeconds = (performance.now() - startMs) / 1000;
    const allowed = chargedMost({ before, after, elapsedSeconds, limit: workload.limit });
    const admittedOfBuckets = admitted.flatMap((hits) => workload.asked.entryKeys.map(() => hits));
    return { ...figures, fallbacks, overGrant: overGrant(admittedOfBuckets, allowed) };
  }

  /** Of all rounds so far, against what the limit allows in that time. */
  private overGrantOfDry(
    contender: Contender,
    { limit }: Workload,
    { admitted, startMs }: { readonly admitted: number; readonly startMs: number },
  ): number {
    const dry = this.dry.get(contender) ?? { sinceMs: startMs, admitted: 0 };
    dry.admitted += admitted;
    this.dry.set(contender, dry);
    return overGrant([dry.admitted], [allowedMost(limit, (performance.now() - dry.sinceMs) / 1000)]);
  }

  private async meter(row: Row, durationMs: number, contender?: Contender): Promise<Metered> {
    const { oneEvalsha } = this.options;
    const redis = contender === undefined ? this.options.redis : contender.redis;
    const pids = contender?.pids ?? [oneEvalsha.pid];
    const metered = [...pids, ...(redis === undefined ? [] : [redis.pid])];
    if (redis !== undefined) await resetCounters(redis.admin);
    const beforeUs = metered.map(processorTimeUs);
    const outcome =
      contender === undefined ? await this.runOneEvalsha(row, durationMs) : await this.runLoad(contender, row, { durationMs, metered });
    const usedUs = outcome.result?.processorUs ?? metered.map((pid, index) => processorTimeUs(pid) - beforeUs[index]!);
    const calls = redis && (await countSent(redis.admin, contender));
    const { decisions, denied, failed, perSecond, elapsedMs, result } = outcome;
    const each = Math.max(1, decisions);
    const serverUs = sum(usedUs.slice(0, pids.length));
    const figures: RowFigures = {
      decisions,
      denied,
      failed,
      perSecond,
      serverUs: serverUs / each,
      busy: serverUs / 1000 / elapsedMs,
      residentBytes: sum(pids.map(residentBytes)),
      ...(calls !== undefined && { redisUs: usedUs.at(-1)! / each, redisCalls: calls / each }),
      ...(result?.latencyMs && { latencyMs: result.latencyMs }),
      ...(result?.lateMs && { lateMs: result.lateMs }),
      ...(result?.answerMs && { answerMs: result.answerMs }),
      ...(result && { waited: sum(result.waitedUs.slice(0, pids.length)) / 1000 / elapsedMs }),
      ...(row.load.kind === 'open' && { rate: this.rateOf(row, row.load.rate) }),
    };
    return { figures, admittedOfWatched: result?.admittedOfWatched ?? [] };
  }

  private async runLoad(
    contender: Contender,
    row: Row,
    { durationMs, metered }: { readonly durationMs: number; readonly metered: readonly number[] },
  ): Promise<Outcome> {
    const { cores } = this.options;
    const { load } = row;
    const { asked, keyCount, watchedBelow }: Workload = WORKLOADS[row.workload];
    if (load.kind === 'h2load') {
      const { done, succeeded, perSecond } = await runH2load({
        port: contender.port,
        connections: CONNECTIONS,
        streams: load.streams,
        durationMs,
        asked,
        core: cores?.load,
      });
      return { decisions: succeeded, denied: 0, failed: done - succeeded, perSecond, elapsedMs: (succeeded / perSecond) * 1000 };
    }
    const result = await this.ask(contender, {
      connections: load.kind === 'closed' ? load.connections : CONNECTIONS,
      load: load.kind === 'closed' ? load : { kind: 'open', perSecond: this.rateOf(row, load.rate) },
      durationMs,
      asked,
      keys: { count: keyCount, order: { seed: this.nextSeed() } },
      watchedBelow,
      meteredPids: metered,
    });
    const decisions = result.admitted + result.denied;
    return { ...result, decisions, perSecond: (decisions * 1000) / result.elapsedMs, result };
  }

  private async ask({ name, host, port }: Contender, job: Omit<LoadJob, 'host' | 'port'>): Promise<LoadResult> {
    const result = await this.options.generator.run({ host, port, ...job });
    if (result.broken !== undefined) throw new Error(`${name}: ${result.broken}`);
    return result;
  }

  private async runOneEvalsha({ workload, load }: Row, durationMs: number): Promise<Outcome> {
    const { asked, keyCount, limit }: Workload = WORKLOADS[workload];
    const callers = load.kind === 'closed' ? load.connections * load.streams : CONNECTIONS;
    const keys = { count: keyCount, order: { seed: this.nextSeed() } };
    const result = await this.options.oneEvalsha.run({ callers, durationMs, entryKey: asked.entryKeys[0]!, limit, keys });
    return { ...result, denied: 0, perSecond: (result.decisions * 1000) / result.elapsedMs };
  }

  private rateOf({ contender }: Row, rate: OpenRate): number {
    if (rate !== 'half') return rate;
    const saturation = this.saturation.get(contender);
    if (saturation === undefined)
      throw new Error(`half of what ${contender} decides at most needs its row ${CONNECTIONS}x${SATURATING_STREAMS}: add it to --rows`);
    return Math.round(saturation * HALF);
  }

  private clientOf(contender: Contender): RlsClient {
    const client = this.clients.get(contender) ?? new RlsClient(contender.port);
    this.clients.set(contender, client);
    return client;
  }

  /** Other keys each time, the same ones in every run. */
  private nextSeed(): number {
    this.seed += 1;
    return this.seed;
  }
}

async function readFallbacks({ weir }: Contender): Promise<number> {
  return weir === undefined ? 0 : total(await readMetrics([weir]), { name: 'weir_fallback_decisions_total' });
}

/** Commands that Redis was sent since its counters were reset. Those of a script are in the counts too: of Weir's, only the scripts are sent. */
async function countSent(admin: TestClient, contender: Contender | undefined): Promise<number> {
  const calls = await countCalls(admin);
  const isWeir = contender === undefined || contender.weir !== undefined;
  if (isWeir) return (calls.get('evalsha') ?? 0) + (calls.get('eval') ?? 0);
  return sum([...calls].filter(([command]) => !OWN_COMMANDS.has(command)).map(([, count]) => count));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
