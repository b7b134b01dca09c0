/** The load of the fault tests: requests at fixed times, whether or not the ones before have been answered. */

import type { ServiceError } from '@grpc/grpc-js';
import type { WireResponse } from '../../../src/server/transport/messages/wire';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { writeConfig } from '../../support/config/temp-config';
import { isLong } from '../../support/random/form';
import type { WeirProcess } from '../../support/processes/weir-process';

/**
 * What is asked for. `hot`: one bucket that is asked for twice what it refills; `budget`: one that is used up in the
 * middle of the fault and never refills; `count`: one that is never used up, to compare charges; `cold`: many others.
 */
export type Asked = 'hot' | 'budget' | 'count' | 'cold';

export interface Answer {
  readonly asked: Asked;
  /** Which of the processes was asked. */
  readonly instance: number;
  /** When it was to be sent, and when its answer came; by the monotonic clock. */
  readonly scheduledMs: number;
  readonly answeredMs: number;
  readonly outcome: 'admitted' | 'denied' | 'failed';
  readonly byFallback: boolean;
  /** The gRPC status of one that failed. */
  readonly status?: number;
}

export interface LoadPlan {
  readonly perSecond: number;
  /** Requests that the budget admits. */
  readonly budget: number;
}

export const DOMAIN = 'faults';

/** Never used up by a test. */
export const COUNT_LIMIT = 10_000_000;

/** Of each of the buckets that lie idle. */
export const IDLE_LIMIT = 10;

const COLD_KEYS = 50;

/** By turns: half of the requests are for the hot bucket. */
const TURNS: readonly Asked[] = ['hot', 'budget', 'hot', 'count', 'hot', 'cold', 'hot', 'budget', 'hot', 'count'];

/** Of all requests, those for this. */
export function shareOf(asked: Asked): number {
  return TURNS.filter((each) => each === asked).length / TURNS.length;
}

/** Requests that the hot bucket admits per second: half of what it is asked for. */
export function hotLimit({ perSecond }: Pick<LoadPlan, 'perSecond'>): number {
  return Math.round((perSecond * shareOf('hot')) / 2);
}

/** A caller that waits much longer than Envoy does: one that is not answered by then never will be, on a busy machine either. */
const CALLER_TIMEOUT_MS = isLong ? 5_000 : 60_000;

/** How often the schedule is looked at. */
const TICK_MS = 2;

/** The first calls of a process compile what they run through. */
const WARM_UP_CALLS = 150;

/** The limits of the load, as Weir's configuration; the path of the file. */
export function writeLoadConfig(plan: LoadPlan): string {
  return writeConfig(`
domain: ${DOMAIN}
descriptors:
  - key: hot
    rate_limit: { unit: second, requests_per_unit: ${hotLimit(plan)}, algorithm: token_bucket }
  - key: budget
    rate_limit: { unit: year, unit_multiplier: 50, requests_per_unit: ${plan.budget}, algorithm: fixed_window }
  - key: count
    rate_limit: { unit: year, unit_multiplier: 50, requests_per_unit: ${COUNT_LIMIT}, algorithm: fixed_window }
  - key: cold
    rate_limit: { unit: hour, requests_per_unit: 100000, algorithm: token_bucket }
  - key: idle
    rate_limit: { unit: year, unit_multiplier: 50, requests_per_unit: ${IDLE_LIMIT}, algorithm: fixed_window }
  - key: fresh
    rate_limit: { unit: second, requests_per_unit: 5, algorithm: token_bucket }
`);
}

export class Load {
  readonly answers: Answer[] = [];
  private readonly clients: readonly RlsClient[];
  private readonly pending = new Set<Promise<void>>();
  private readonly startedMs = performance.now();
  private readonly timer: NodeJS.Timeout;
  private sent = 0;

  /** Starts at once. */
  constructor(
    weirs: readonly WeirProcess[],
    private readonly plan: LoadPlan,
  ) {
    this.clients = weirs.map(({ grpcPort }) => new RlsClient(grpcPort));
    this.timer = setInterval(() => {
      this.sendDue();
    }, TICK_MS);
  }

  /** Resolves when everything that was sent has its answer, or has failed. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await Promise.all(this.pending);
    for (const client of this.clients) client.close();
  }

  private sendDue(): void {
    const elapsedMs = performance.now() - this.startedMs;
    for (; (this.sent * 1000) / this.plan.perSecond <= elapsedMs; this.sent += 1) {
      const call = this.ask(this.sent, this.startedMs + (this.sent * 1000) / this.plan.perSecond);
      this.pending.add(call);
      void call.then(() => this.pending.delete(call));
    }
  }

  private async ask(number: number, scheduledMs: number): Promise<void> {
    // Whole rounds of turns go to one process and then to the other, so that each is asked for everything.
    const instance = Math.floor(number / TURNS.length) % this.clients.length;
    const asked = TURNS[number % TURNS.length]!;
    const value = asked === 'cold' ? String(number % COLD_KEYS) : 'one';
    const sent = { asked, instance, scheduledMs };
    try {
      const response = await this.clients[instance]!.ask(DOMAIN, [{ entries: { [asked]: value } }], { timeoutMs: CALLER_TIMEOUT_MS });
      const outcome = response.overall_code === OK ? 'admitted' : 'denied';
      this.answers.push({ ...sent, answeredMs: performance.now(), outcome, byFallback: isFallback(response) });
    } catch (error) {
      const { code } = error as ServiceError;
      this.answers.push({ ...sent, answeredMs: performance.now(), outcome: 'failed', byFallback: false, status: code });
    }
  }
}

/** Before anything counts. */
export async function warmUp({ grpcPort }: WeirProcess): Promise<void> {
  const client = new RlsClient(grpcPort);
  for (let call = 0; call < WARM_UP_CALLS; call += 1) await client.ask(DOMAIN, [{ entries: { cold: 'warm-up' } }]).catch(() => undefined);
  client.close();
}

/** Whether the reply's metadata says that it was decided without the store. */
export function isFallback(response: WireResponse): boolean {
  return response.dynamic_metadata?.fields.decided_by?.stringValue === 'fallback';
}
