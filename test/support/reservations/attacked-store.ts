/** Weirs and their store for a test that kills any of them at any moment, with one clock for all that the test steps. */

import { setTimeout as pause } from 'node:timers/promises';
import { httpRequest, type HttpResponse } from '../clients/http-client';
import { makeShiftedClock } from '../clock/shifted-clock';
import { startWeir, type WeirProcess } from '../processes/weir-process';
import type { Random } from '../random/random';
import { startRedis, type RedisServer } from '../redis/redis-server';
import { makeTestClient, type TestClient } from '../redis/redis-store';

/** Who fails while a step is under way. `weir`, `redis`: SIGKILL. `frozen`: Redis stops for a while. `client`: gone before the answer. */
export type Fault = 'weir' | 'redis' | 'frozen' | 'full' | 'emptied' | 'client';

export interface AttackedStoreOptions {
  /** The embedded store has one Weir, and loses all with it. */
  readonly store: 'memory' | 'redis';
  /** Whether Redis keeps what it has acknowledged when it is killed. */
  readonly isDurable?: boolean;
  readonly failureMode: 'local' | 'unavailable';
  readonly config: string;
  readonly random: Random;
}

/** Half past midnight, so that no day ends while the test steps by hours. */
const START_OF_DAY_MS = 1_800_000;
const DAY_MS = 86_400_000;

/** The embedded store and the timers of a Weir go by the monotonic clock. */
const TIME_PASSES = { WEIR_CLOCK_MONOTONIC: '1' };

/** A moment within which a step reaches every party. */
const MOMENT_MS = 5;
/** Shorter and longer than a step waits. */
const FREEZES_MS = [30, 500];

const TRIES_MAX = 10_000;
const RETRY_MS = 10;

export interface Sent {
  readonly path: string;
  readonly body: object;
}

export class AttackedStore {
  private readonly weirs: (WeirProcess | undefined)[] = [];
  private readonly starting = new Set<Promise<void>>();
  private client: TestClient | undefined;
  private redis: RedisServer | undefined;
  private readonly clock = makeShiftedClock();
  private aheadMs = DAY_MS - (Date.now() % DAY_MS) + START_OF_DAY_MS;

  private constructor(private readonly options: AttackedStoreOptions) {
    this.clock.shift(this.aheadMs);
  }

  static async open(options: AttackedStoreOptions): Promise<AttackedStore> {
    const opened = new AttackedStore(options);
    if (options.store === 'redis') {
      const config = options.isDurable === true ? ['--appendonly', 'yes', '--appendfsync', 'always'] : [];
      opened.redis = await startRedis({ env: opened.clock.env, config });
      opened.client = await makeTestClient(opened.redis.port).connect();
    }
    await Promise.all(Array.from({ length: options.store === 'redis' ? 2 : 1 }, (_, place) => opened.start(place)));
    return opened;
  }

  nowUs(): number {
    return (Date.now() + this.aheadMs) * 1_000;
  }

  step(ms: number): void {
    this.aheadMs += ms;
    this.clock.shift(this.aheadMs);
  }

  /** Whether the store has lost its data with that fault. */
  loses(fault: Fault): boolean {
    const { store, isDurable } = this.options;
    return fault === 'emptied' || (fault === 'redis' && isDurable !== true) || (fault === 'weir' && store === 'memory');
  }

  /** Sends until there is an answer of a Weir that decided. */
  async send(sent: Sent): Promise<HttpResponse> {
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      const answer = await this.try(sent);
      if (answer !== undefined && answer.status < 500) return answer;
      await pause(RETRY_MS);
    }
    throw new Error(`no decision on ${JSON.stringify(sent)} in ${TRIES_MAX} tries`);
  }

  /** Sends once, and lets the fault happen meanwhile: what became of it nobody knows. */
  async sendInto(sent: Sent, fault: Fault): Promise<void> {
    const { random } = this.options;
    const gone = new AbortController();
    const before = await this.prepare(fault);
    const place = this.pick();
    const sending = this.try(sent, { place, signal: gone.signal });
    await pause(random(MOMENT_MS));
    if (fault === 'client') gone.abort();
    else if (fault === 'weir') this.killWeir(place);
    else await this.strike(fault);
    await sending;
    await before?.();
  }

  /** Keys in Redis; empty for the embedded store. */
  async keys(): Promise<readonly string[]> {
    const keys: string[] = [];
    for await (const page of this.client?.scanIterator() ?? []) keys.push(...page);
    return keys;
  }

  /** Until all Weirs run that were killed. */
  async restored(): Promise<void> {
    await Promise.all(this.starting);
  }

  async stopWeirs(): Promise<void> {
    await this.restored();
    await Promise.all(this.weirs.flatMap((weir) => (weir === undefined ? [] : [weir.stop()])));
  }

  async close(): Promise<void> {
    await this.stopWeirs();
    this.client?.destroy();
    await this.redis?.stop();
    this.clock.close();
  }

  private async start(place: number): Promise<void> {
    const { store, config, failureMode } = this.options;
    const env =
      store === 'memory'
        ? { BACKEND_TYPE: 'memory' }
        : {
            REDIS_URL: `127.0.0.1:${this.redis?.port}`,
            REDIS_OP_TIMEOUT: '200ms',
            REDIS_BREAKER_OPEN: '20ms',
            FAILURE_MODE: failureMode,
            FAILURE_MODE_INSTANCES: '2',
          };
    this.weirs[place] = await startWeir({ config, env: { WARM_UP: 'false', ...env, ...this.clock.env, ...TIME_PASSES } });
  }

  private pick(): number {
    const running = [...this.weirs.keys()].filter((place) => this.weirs[place] !== undefined);
    return running[this.options.random(running.length)] ?? 0;
  }

  private async try(
    { path, body }: Sent,
    { place = this.pick(), signal }: { readonly place?: number; readonly signal?: AbortSignal } = {},
  ): Promise<HttpResponse | undefined> {
    const weir = this.weirs[place];
    if (weir === undefined) return undefined;
    const url = `http://127.0.0.1:${weir.httpPort}${path}`;
    return httpRequest(url, { body, ...(signal && { signal }) }).catch(() => undefined);
  }

  private killWeir(place: number): void {
    const weir = this.weirs[place];
    this.weirs[place] = undefined;
    weir?.kill('SIGKILL');
    const starting = this.start(place).finally(() => this.starting.delete(starting));
    this.starting.add(starting);
  }

  /** What begins before the step is sent; the answer ends it. A second Weir goes only when the first is back. */
  private async prepare(fault: Fault): Promise<(() => Promise<unknown>) | undefined> {
    if (fault === 'weir') await this.restored();
    if (fault !== 'full') return undefined;
    await this.client?.sendCommand(['CONFIG', 'SET', 'maxmemory', '1']);
    return async () => this.client?.sendCommand(['CONFIG', 'SET', 'maxmemory', '0']);
  }

  private async strike(fault: Fault): Promise<void> {
    const { redis, client } = this;
    if (redis === undefined || client === undefined) return;
    if (fault === 'redis') {
      redis.kill('SIGKILL');
      await redis.restart();
    } else if (fault === 'frozen') {
      redis.kill('SIGSTOP');
      await pause(FREEZES_MS[this.options.random(FREEZES_MS.length)]);
      redis.kill('SIGCONT');
      await client.ping();
    } else if (fault === 'emptied') {
      await client.flushAll();
    }
  }
}
