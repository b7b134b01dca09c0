/** The route that simulates: what the limits in force would do to requests at a rate, from full buckets and in virtual time. */

import { Type } from '@sinclair/typebox';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isOutsideWindows, type Group, type GroupVerdict } from '../../../domain/bucket/take';
import type { RateLimitRequest } from '../../../domain/descriptor/descriptor';
import { US_PER_S } from '../../../lib/time-units';
import { MemoryStore } from '../../../state/store/memory/memory-store';
import type { AdminBackend } from '../backend';
import { AdminProblem } from '../problem';
import { route } from '../route/route';
import { descriptors, domain, object } from '../route/schemas';
import { groupOf, toRequest } from '../request/live-request';

/** Most requests of one simulation. Each costs some microseconds for a bucket, in the thread of the admin API. */
const REQUESTS_MAX = 20_000;

/** Parts into which the time is divided. */
const COLUMNS = 60;

/** Decisions between two turns of the event loop, so that other calls are answered meanwhile. */
const AT_ONCE = 200;

const column = object({
  from_seconds: Type.Number({ minimum: 0 }),
  admitted: Type.Integer({ minimum: 0 }),
  denied: Type.Integer({ minimum: 0 }),
  left: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Hits left at its end under the limit that binds. Absent: nothing limits the request.' }),
  ),
});

export const simulate = route({
  method: 'POST',
  path: '/v1/simulate',
  id: 'simulateRequest',
  tag: 'system',
  role: 'viewer',
  summary: `Simulates requests at a steady rate, after a burst, under the limits in force, from full buckets and in virtual time; at most ${REQUESTS_MAX} requests. Nothing is charged.`,
  body: object({
    domain,
    descriptors,
    per_second: Type.Number({ minimum: 0, maximum: 100_000, description: 'Requests a second.' }),
    for_seconds: Type.Integer({ minimum: 1, maximum: 86_400 }),
    burst: Type.Optional(Type.Integer({ minimum: 0, maximum: REQUESTS_MAX, description: 'Requests at once at the start. Absent: none.' })),
  }),
  reply: object({
    requests: Type.Integer({ minimum: 0 }),
    admitted: Type.Integer({ minimum: 0 }),
    denied: Type.Integer({ minimum: 0 }),
    capacity: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Most hits of the limit that binds at the end. Absent: nothing limits the request.' }),
    ),
    columns: Type.Array(column, { description: `The time in ${COLUMNS} equal parts.` }),
  }),
  problems: ['unavailable'],
  handle: async ({ body }, backend) => {
    const { per_second: perSecond, for_seconds: forSeconds, burst = 0 } = body;
    const requests = burst + Math.floor(perSecond * forSeconds);
    if (requests > REQUESTS_MAX)
      throw new AdminProblem(
        'invalid',
        `${requests} requests are over ${REQUESTS_MAX}, the most of a simulation; give a lower rate or a shorter time`,
      );
    const simulation = new Simulation(toRequest(body), backend);
    return { body: { requests, ...(await simulation.run({ perSecond, forSeconds, burst })) } };
  },
});

interface Arrivals {
  readonly perSecond: number;
  readonly forSeconds: number;
  readonly burst: number;
}

interface Column {
  readonly from_seconds: number;
  admitted: number;
  denied: number;
  left?: number;
}

/** The request again and again, in a store of its own. */
class Simulation {
  private readonly startUs: number;
  private nowUs: number;
  private readonly store: MemoryStore;
  private group: Group;
  private readonly isBlocked: boolean;
  private decided = 0;

  constructor(
    private readonly request: RateLimitRequest,
    private readonly backend: AdminBackend,
  ) {
    this.startUs = backend.nowMs() * 1_000;
    this.nowUs = this.startUs;
    this.store = new MemoryStore({ nowUs: () => this.nowUs, bucketsMax: REQUESTS_MAX });
    const { group, matched } = groupOf(request, backend);
    this.group = group;
    this.isBlocked = matched.blocked === true;
  }

  async run({ perSecond, forSeconds, burst }: Arrivals) {
    const steady = Math.floor(perSecond * forSeconds);
    const columns: Column[] = [];
    let [admitted, next] = [0, 0];
    let capacity: number | undefined;
    for (let i = 0; i < COLUMNS; i += 1) {
      const column: Column = { from_seconds: (i * forSeconds) / COLUMNS, admitted: 0, denied: 0 };
      const endUs = ((i + 1) * forSeconds * US_PER_S) / COLUMNS;
      for (let n = i === 0 ? burst : 0; n > 0; n -= 1) await this.ask(0, column);
      for (; next < steady && (next * US_PER_S) / perSecond < endUs; next += 1) await this.ask((next * US_PER_S) / perSecond, column);
      const binding = await this.binding(Math.floor(endUs));
      if (binding !== undefined) {
        column.left = binding.left;
        ({ capacity } = binding);
      }
      admitted += column.admitted;
      columns.push(column);
    }
    return { admitted, denied: burst + steady - admitted, ...(capacity !== undefined && { capacity }), columns };
  }

  private async ask(atUs: number, column: Column): Promise<void> {
    this.decided += 1;
    if (this.decided % AT_ONCE === 0) await nextTurn();
    const { overLimit } = await this.decide(this.group, Math.floor(atUs));
    if (overLimit || this.isBlocked) column.denied += 1;
    else column.admitted += 1;
  }

  /** The limit with the least left; undefined: there is none. */
  private async binding(atUs: number): Promise<{ readonly left: number; readonly capacity: number } | undefined> {
    const { verdicts } = await this.decide(this.group, atUs, { dry: true });
    let least: { readonly left: number; readonly capacity: number } | undefined;
    for (const [i, { remaining }] of verdicts.entries()) {
      const take = this.group.takes[i];
      if (take === undefined || take.mode === 'shadow' || (least !== undefined && remaining >= least.left)) continue;
      least = { left: remaining, capacity: take.limit.capacity };
    }
    return least;
  }

  private async decide(group: Group, atUs: number, { dry = false } = {}): Promise<GroupVerdict> {
    this.nowUs = this.startUs + atUs;
    const [outcome] = await this.store.take([dry ? { ...group, dry } : group]);
    if (outcome !== undefined && isOutsideWindows(outcome)) {
      // The windows of calendar limits are those around the time of the group.
      this.group = groupOf(this.request, { ...this.backend, nowMs: () => this.nowUs / 1_000 }).group;
      return this.decide(this.group, atUs, { dry });
    }
    if (outcome === undefined || outcome instanceof Error)
      throw outcome ?? new AdminProblem('unavailable', 'the simulation gave no answer');
    return outcome;
  }
}
