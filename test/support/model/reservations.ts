/** A model of reservations so simple that it can be read: sums of hits in buckets that no time refills. */

import type { Leg, ReservationRecord } from '../../../src/domain/decide/reservation';

interface Modelled {
  state: ReservationRecord['state'];
  readonly granted: number;
  expiresUs: number;
  readonly charged: number[];
}

/** What a step came to, as far as the model says it. */
export interface ModelAnswer {
  readonly state: ReservationRecord['state'] | 'denied' | 'none';
  readonly granted: number;
}

/** Every leg has a bucket of its own, of a fixed window that does not end; all are enforced. */
export class ReservationModel {
  private readonly ids = new Map<string, Modelled>();
  readonly used: number[];

  constructor(private readonly legs: readonly Leg[]) {
    this.used = legs.map(() => 0);
  }

  /** Hits of each bucket that are held. */
  held(): number[] {
    const held = [...this.ids.values()].filter(({ state }) => state === 'held');
    return this.legs.map((_, i) => held.reduce((sum, { charged }) => sum + charged[i]!, 0));
  }

  reserve(id: string, asked: number, ttlUs: number, nowUs: number): ModelAnswer {
    const known = this.ids.get(id);
    if (known !== undefined) return known;
    const first = this.tryReserve(id, asked, ttlUs, nowUs);
    // What is over must deny nobody; it lapses in any case.
    return this.sweep(nowUs) > 0 && first.state === 'denied' ? this.tryReserve(id, asked, ttlUs, nowUs) : first;
  }

  settle(id: string, target: 'committed' | 'released', actual: number, nowUs: number): ModelAnswer {
    const known = this.ids.get(id) ?? { state: 'lapsed', granted: 0, expiresUs: nowUs, charged: this.legs.map(() => 0) };
    if (known.state === 'committed' || known.state === 'released') return known;
    this.charge(known, () => (target === 'committed' ? actual : 0));
    known.state = target;
    this.ids.set(id, known);
    return known;
  }

  extend(id: string, ttlUs: number, nowUs: number): ModelAnswer {
    const known = this.ids.get(id);
    if (known === undefined) return { state: 'none', granted: 0 };
    if (known.state === 'held') known.expiresUs = Math.max(known.expiresUs, nowUs + ttlUs);
    return known;
  }

  /** How many have lapsed. */
  sweep(nowUs: number): number {
    const due = [...this.ids.values()].filter(({ state, expiresUs }) => state === 'held' && expiresUs <= nowUs);
    for (const reservation of due) {
      this.charge(reservation, (i) => (this.legs[i]!.keepsOnLapse ? reservation.charged[i]! : 0));
      reservation.state = 'lapsed';
    }
    return due.length;
  }

  private tryReserve(id: string, asked: number, ttlUs: number, nowUs: number): ModelAnswer {
    const held = this.held();
    const granted = Math.min(asked, ...this.legs.map(({ shareMax = Infinity }, i) => Math.max(0, shareMax - held[i]!)));
    const fits = this.legs.every(({ limit }, i) => this.used[i]! + granted <= limit.capacity);
    if (granted === 0 || !fits) return { state: 'denied', granted: 0 };
    const reservation: Modelled = { state: 'held', granted, expiresUs: nowUs + ttlUs, charged: this.legs.map(() => 0) };
    this.charge(reservation, () => granted);
    this.ids.set(id, reservation);
    return reservation;
  }

  /** Each leg is charged with what it is to have, down to its overdraft. */
  private charge({ charged }: Modelled, wanted: (leg: number) => number): void {
    for (const [i, { limit, overdraftMax }] of this.legs.entries()) {
      const room = limit.capacity + overdraftMax - this.used[i]!;
      const hits = Math.min(wanted(i) - charged[i]!, Math.max(0, room));
      charged[i]! += hits;
      this.used[i]! += hits;
    }
  }
}
