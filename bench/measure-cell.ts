/** One round of one cell: a load on a server, and what it cost that server and Redis, to the hit. */

import type { RedisServer } from '../test/support/redis-server';
import type { TestClient } from '../test/support/redis-store';
import { RlsClient } from '../test/support/rls-client';
import { readMetrics, total } from '../test/faults/weir-readings';
import { countCalls, processorTimeUs as redisTimeUs } from './admin';
import { CONNECTIONS, WORKLOADS, type Cell, type OpenRate, type Workload } from './cells';
import { allowedMost, chargedMost, overGrant, peekAtWatched } from './charges';
import type { Contender, ContenderName } from './contenders';
import type { Cores } from './cores';
import { runH2load } from './h2load';
import type { Quantiles } from './load/latencies';
import type { LoadJob, LoadResult } from './load/run-load';
import type { OneEvalshaJob, OneEvalshaResult } from './one-evalsha';
import { processorTimeUs, residentBytes } from './process-usage';
import type { WorkerProcess } from './worker-process';

export interface CellRound {
  readonly decisions: number;
  readonly denied: number;
  /** Errors, calls without an answer, and of RedisStore alone decisions that it could not make. */
  readonly failed: number;
  readonly perSecond: number;
  /** Processor time of the server for each decision, in microseconds. */
  readonly serverUs: number;
  /** Part of the time that the server's core was busy with it. */
  readonly busy: number;
  readonly residentBytes: number;
  /** The same of Redis, where it takes part. */
  readonly redisUs?: number;
  /** Commands that it was sent, for each decision. */
  readonly redisCalls?: number;
  /** Part of what was allowed that was admitted beyond it; undefined where nobody can tell. */
  readonly overGrant?: number;
  /** Decisions made without Redis. */
  readonly fallbacks?: number;
  readonly latencyMs?: Quantiles;
  readonly lateMs?: Quantiles;
  /** Of an open loop: the calls that were to be made in a second. */
  readonly rate?: number;
}

export interface CellMeterOptions {
  readonly contenders: ReadonlyMap<ContenderName, Contender>;
  readonly generator: WorkerProcess<LoadJob, LoadResult>;
  readonly oneEvalsha: WorkerProcess<OneEvalshaJob, OneEvalshaResult>;
  readonly redis: RedisServer;
  readonly admin: TestClient;
  readonly cores: Cores | undefined;
}

/** What a load came to, whoever made it. */
interface Outcome {
  readonly decisions: number;
  readonly denied: number;
  readonly failed: number;
  readonly perSecond: number;
  readonly elapsedMs: number;
  readonly result?: LoadResult;
}

const SATURATING_STREAMS = 64;
const HALF = 0.5;

const COMPILE_CALLS = 20_000;
const COMPILE_MS_MAX = 10_000;
const FILL_MS_MAX = 60_000;

/** A load that keeps a server busy. */
const SATURATING = {
  load: { kind: 'closed', streams: SATURATING_STREAMS },
  asked: WORKLOADS.many.asked,
  keys: { count: WORKLOADS.many.keyCount, order: { seed: 0 } },
  watchedBelow: 0,
} as const satisfies Partial<LoadJob>;

export class CellMeter {
  private readonly clients = new Map<Contender, RlsClient>();
  /** Of buckets that run dry: when they were first asked for, and what was admitted since. */
  private readonly dry = new Map<Contender, { readonly sinceMs: number; admitted: number }>();
  /** Of the first closed loop of each server. */
  private readonly saturation = new Map<Cell['contender'], number>();
  private seed = 0;

  constructor(private readonly options: CellMeterOptions) {}

  /** The first thousands of calls run uncompiled, at many times the cost: so many are made of each server. */
  async compile(): Promise<void> {
    for (const contender of this.options.contenders.values()) {
      await this.ask(contender, { ...SATURATING, durationMs: COMPILE_MS_MAX, callsMax: COMPILE_CALLS });
    }
  }

  /** Every key has its bucket: as it is after a while, and not as it is at first. */
  async fill(): Promise<void> {
    const { asked, keyCount, limit }: Workload = WORKLOADS.many;
    const keys = { count: keyCount, order: 'in_turn' } as const;
    for (const name of ['embedded', 'redis'] as const) {
      await this.ask(this.options.contenders.get(name)!, { ...SATURATING, durationMs: FILL_MS_MAX, callsMax: keyCount, keys });
    }
    const callers = CONNECTIONS * SATURATING_STREAMS;
    await this.options.oneEvalsha.run({ callers, durationMs: FILL_MS_MAX, decisionsMax: keyCount, entryKey: asked.entryKeys[0]!, limit, keys });
  }

  /** One round that is not told. What it admits counts all the same. */
  async warmUp(cell: Cell, durationMs: number): Promise<void> {
    await this.meterAny(cell, durationMs);
  }

  async measure(cell: Cell, durationMs: number): Promise<CellRound> {
    const round = await this.meterAny(cell, durationMs);
    const { contender, workload, load } = cell;
    const isSaturating = load.kind === 'closed' && load.streams === SATURATING_STREAMS && workload === 'many';
    if (isSaturating && !this.saturation.has(contender)) this.saturation.set(contender, round.perSecond);
    return round;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }

  private async meterAny(cell: Cell, durationMs: number): Promise<CellRound> {
    const contender = cell.contender === 'one_evalsha' ? undefined : this.options.contenders.get(cell.contender);
    return contender === undefined ? this.meter(cell, durationMs) : this.meterServer(contender, cell, durationMs);
  }

  /** With what a Weir can be asked about itself, before and after. */
  private async meterServer(contender: Contender, cell: Cell, durationMs: number): Promise<CellRound> {
    const { weir } = contender;
    if (weir === undefined) return this.meter(cell, durationMs, contender);
    const workload: Workload = WORKLOADS[cell.workload];
    const fallbacksBefore = await readFallbacks(contender);
    const startMs = performance.now();
    const dry = this.dry.get(contender) ?? { sinceMs: startMs, admitted: 0 };
    const before = workload.runsDry === true ? [] : await peekAtWatched(this.clientOf(contender), workload);
    const { result, ...round } = await this.meter(cell, durationMs, contender);
    const admitted = result?.admittedOfWatched ?? [];
    const fallbacks = (await readFallbacks(contender)) - fallbacksBefore;
    if (workload.runsDry === true) {
      dry.admitted += admitted[0] ?? 0;
      this.dry.set(contender, dry);
      const elapsedSeconds = (performance.now() - dry.sinceMs) / 1000;
      return { ...round, fallbacks, overGrant: overGrant([dry.admitted], [allowedMost(workload.limit, elapsedSeconds)]) };
    }
    const after = await peekAtWatched(this.clientOf(contender), workload);
    const elapsedSeconds = (performance.now() - startMs) / 1000;
    const allowed = chargedMost({ before, after, elapsedSeconds, limit: workload.limit });
    const admittedOfBuckets = admitted.flatMap((hits) => workload.asked.entryKeys.map(() => hits));
    return { ...round, fallbacks, overGrant: overGrant(admittedOfBuckets, allowed) };
  }

  private async meter(cell: Cell, durationMs: number, contender?: Contender): Promise<CellRound & Pick<Outcome, 'result'>> {
    const { oneEvalsha, admin } = this.options;
    const pid = contender?.pid ?? oneEvalsha.pid;
    const usesRedis = contender === undefined || contender.name.startsWith('redis');
    await admin.sendCommand(['CONFIG', 'RESETSTAT']);
    const [serverBeforeUs, redisBeforeUs] = [processorTimeUs(pid), await redisTimeUs(admin)];
    const outcome = contender === undefined ? await this.runOneEvalsha(cell, durationMs) : await this.runLoad(contender, cell, durationMs);
    const [serverUs, redisUs] = [processorTimeUs(pid) - serverBeforeUs, (await redisTimeUs(admin)) - redisBeforeUs];
    const calls = await countCalls(admin);
    const { decisions, denied, failed, perSecond, elapsedMs, result } = outcome;
    const each = Math.max(1, decisions);
    return {
      decisions,
      denied,
      failed,
      perSecond,
      serverUs: serverUs / each,
      busy: serverUs / 1000 / elapsedMs,
      residentBytes: residentBytes(pid),
      ...(usesRedis && { redisUs: redisUs / each, redisCalls: ((calls.get('evalsha') ?? 0) + (calls.get('eval') ?? 0)) / each }),
      ...(result?.latencyMs && { latencyMs: result.latencyMs }),
      ...(result?.lateMs && { lateMs: result.lateMs }),
      ...(cell.load.kind === 'open' && { rate: this.rateOf(cell, cell.load.rate) }),
      ...(result && { result }),
    };
  }

  private async runLoad(contender: Contender, cell: Cell, durationMs: number): Promise<Outcome> {
    const { cores } = this.options;
    const { load } = cell;
    const { asked, keyCount, watchedBelow }: Workload = WORKLOADS[cell.workload];
    if (load.kind === 'h2load') {
      const { done, succeeded, perSecond } = await runH2load({ port: contender.port, connections: CONNECTIONS, streams: load.streams, durationMs, asked, core: cores?.load });
      return { decisions: succeeded, denied: 0, failed: done - succeeded, perSecond, elapsedMs: (succeeded / perSecond) * 1000 };
    }
    const result = await this.ask(contender, {
      load: load.kind === 'closed' ? load : { kind: 'open', perSecond: this.rateOf(cell, load.rate) },
      durationMs,
      asked,
      keys: { count: keyCount, order: { seed: this.nextSeed() } },
      watchedBelow,
    });
    const decisions = result.admitted + result.denied;
    return { ...result, decisions, perSecond: (decisions * 1000) / result.elapsedMs, result };
  }

  private async ask({ name, host, port }: Contender, job: Omit<LoadJob, 'host' | 'port' | 'connections'>): Promise<LoadResult> {
    const result = await this.options.generator.run({ host, port, connections: CONNECTIONS, ...job });
    if (result.broken !== undefined) throw new Error(`${name}: ${result.broken}`);
    return result;
  }

  private async runOneEvalsha({ workload, load }: Cell, durationMs: number): Promise<Outcome> {
    const { asked, keyCount, limit }: Workload = WORKLOADS[workload];
    const callers = CONNECTIONS * (load.kind === 'open' ? 1 : load.streams);
    const keys = { count: keyCount, order: { seed: this.nextSeed() } };
    const result = await this.options.oneEvalsha.run({ callers, durationMs, entryKey: asked.entryKeys[0]!, limit, keys });
    return { ...result, denied: 0, perSecond: (result.decisions * 1000) / result.elapsedMs };
  }

  private rateOf({ contender }: Cell, rate: OpenRate): number {
    if (rate !== 'half') return rate;
    const saturation = this.saturation.get(contender);
    if (saturation === undefined) throw new Error(`the saturation of ${contender} was not measured before its half`);
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
