/** Random lives of reservations, and one step of them on any store: what parity and mutants run. */

import type { Leg } from '../../../src/domain/decide/reservation';
import type { ReservationPlan, Reservations, ReserveOutcome, StepOutcome } from '../../../src/state/reservation/reservations';
import type { OutsideWindows } from '../../../src/domain/bucket/take';
import { LIMITS } from '../decisions/groups';
import type { Random } from './random';

const KEEP_US = 86_400_000_000;
const IDS = 6;

export type ReservationStep =
  | { readonly kind: 'reserve'; readonly id: string; readonly asked: number; readonly ttlUs: number }
  | { readonly kind: 'commit'; readonly id: string; readonly actual: number }
  | { readonly kind: 'release'; readonly id: string }
  | { readonly kind: 'extend'; readonly id: string; readonly ttlUs: number }
  | { readonly kind: 'sweep' }
  /** What one of several sweeps asks for, whether or not it is due. */
  | { readonly kind: 'lapse'; readonly id: string }
  | { readonly kind: 'wait'; readonly us: number };

/** Whole lives of reservations, of which some messages are lost, some come again, and some come before others. */
export function randomSteps(random: Random, hitsMax: number, stepUs: number): ReservationStep[] {
  const steps: ReservationStep[] = [];
  for (let i = 0; i < IDS; i += 1) {
    const id = `r${i}`;
    const life: ReservationStep[] = [{ kind: 'reserve', id, asked: 1 + random(hitsMax), ttlUs: 1 + random(4 * stepUs) }];
    if (random(3) === 0) life.push({ kind: 'extend', id, ttlUs: 1 + random(4 * stepUs) });
    life.push(random(4) === 0 ? { kind: 'release', id } : { kind: 'commit', id, actual: random(2 * hitsMax) });
    if (random(8) === 0) life.push({ kind: 'commit', id, actual: random(2 * hitsMax) });
    for (const step of life) {
      if (random(6) === 0) continue;
      steps.push(step);
      if (random(4) === 0) steps.push(step);
    }
  }
  for (let i = 0; i < 6; i += 1) steps.push(random(2) === 0 ? { kind: 'sweep' } : { kind: 'wait', us: random(3 * stepUs) });
  return shuffledALittle(steps, random);
}

function shuffledALittle(steps: readonly ReservationStep[], random: Random): ReservationStep[] {
  const placed = steps.map((step, i) => ({ step, at: i + random(10) }));
  return placed.sort((a, b) => a.at - b.at).map(({ step }) => step);
}

function planOf(legs: readonly Leg[]): ReservationPlan {
  return { legs, quotaAlwaysFits: false, shadow: false };
}

function inside<Of extends object | undefined>(outcome: Of | OutsideWindows): Of {
  if (outcome !== undefined && 'outsideAtUs' in outcome) throw new Error('no limit has a calendar');
  return outcome;
}

export type Outcome = ReserveOutcome | StepOutcome | number | undefined;

export async function makeStep(
  reservations: Reservations,
  step: ReservationStep,
  { tag, legs }: { readonly tag: string; readonly legs: readonly Leg[] },
): Promise<Outcome> {
  const plan = planOf(legs);
  const unknown = { plan, keepUs: KEEP_US };
  switch (step.kind) {
    case 'reserve': {
      const outcome = await reservations.reserve(
        { name: { tag, id: step.id }, plan, asked: step.asked, ttlUs: step.ttlUs, keepUs: KEEP_US },
        {},
      );
      return inside(outcome);
    }
    case 'commit':
      return inside(await reservations.settle({ name: { tag, id: step.id }, target: 'committed', actual: step.actual, unknown }, {}));
    case 'release':
      return inside(await reservations.settle({ name: { tag, id: step.id }, target: 'released', actual: 0, unknown }, {}));
    case 'lapse':
      return inside(await reservations.settle({ name: { tag, id: step.id }, target: 'lapsed', actual: 0 }, {}));
    case 'extend':
      return reservations.extend({ name: { tag, id: step.id }, ttlUs: step.ttlUs }, {});
    case 'sweep':
      return (await reservations.sweep(tag)).held;
    case 'wait':
      throw new Error('time is no store’s');
  }
}

export function leg(bucketKey: string, parts: Partial<Leg>): Leg {
  return {
    bucketKey,
    limit: LIMITS.fixed_window,
    mode: 'enforced',
    descriptor: 0,
    shareMax: undefined,
    overdraftMax: 0,
    keepsOnLapse: false,
    ...parts,
  };
}
