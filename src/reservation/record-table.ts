/** Reservation records in this process's memory: those held, the hits that they hold, and the most recent settled ones. */

import type { Leg, ReservationRecord } from '../decide/reservation';
import { TooManyReservationsError, type ReservationName } from './reservations';

/** Maximum of reservations that one sweep lapses. */
export const SWEPT_AT_ONCE = 100;

export interface Kept {
  readonly name: ReservationName;
  readonly legs: readonly Leg[];
  readonly record: ReservationRecord;
}

interface Settled extends Kept {
  readonly forgottenUs: number;
}

export class RecordTable {
  /** By tag, then by id. */
  private readonly held = new Map<string, Map<string, Kept>>();
  private heldSize = 0;
  /** By tag and id, least recently changed first. */
  private readonly settled = new Map<string, Settled>();
  /** By bucket. */
  private readonly hits = new Map<string, number>();

  /** `recordsMax`: the oldest settled records are dropped beyond it; if all are held, new reservations are rejected. */
  constructor(private readonly recordsMax: number) {}

  /** Held hits by bucket. */
  get heldHits(): ReadonlyMap<string, number> {
    return this.hits;
  }

  heldOf(tag: string): number {
    return this.held.get(tag)?.size ?? 0;
  }

  find({ tag, id }: ReservationName, nowUs: number): Kept | undefined {
    const held = this.held.get(tag)?.get(id);
    if (held !== undefined) return held;
    const settled = this.settled.get(`${tag} ${id}`);
    return settled !== undefined && settled.forgottenUs > nowUs ? settled : undefined;
  }

  /** The expired reservations of the tag, oldest first, as many as one sweep lapses. */
  due(tag: string, nowUs: number): readonly Kept[] {
    const due = [...(this.held.get(tag)?.values() ?? [])].filter(({ record }) => record.expiresUs <= nowUs);
    due.sort((one, other) => one.record.expiresUs - other.record.expiresUs || (one.name.id < other.name.id ? -1 : 1));
    return due.slice(0, SWEPT_AT_ONCE);
  }

  /** Replaces the record with the same name. */
  keep(kept: Kept, nowUs: number): void {
    const { name, record } = kept;
    const { tag, id } = name;
    const ofTag = this.held.get(tag) ?? new Map<string, Kept>();
    const before = ofTag.get(id);
    if (before !== undefined) this.count(before, -1);
    ofTag.delete(id);
    this.settled.delete(`${tag} ${id}`);
    if (record.state === 'held') {
      ofTag.set(id, kept);
      this.count(kept, 1);
    } else {
      this.settled.set(`${tag} ${id}`, { ...kept, forgottenUs: nowUs + record.keepUs + Math.max(0, record.expiresUs - nowUs) });
    }
    if (ofTag.size > 0) this.held.set(tag, ofTag);
    else this.held.delete(tag);
    this.makeRoom(nowUs);
  }

  /** @throws TooManyReservationsError */
  checkRoom(): void {
    if (this.heldSize >= this.recordsMax)
      throw new TooManyReservationsError(`over ${this.recordsMax} reservations are held in this instance; commit or release some`);
  }

  private count({ legs, record: { charges } }: Kept, sign: 1 | -1): void {
    this.heldSize += sign;
    for (const [i, { bucketKey }] of legs.entries()) {
      const hits = (this.hits.get(bucketKey) ?? 0) + sign * (charges[i]?.charged ?? 0);
      if (hits > 0) this.hits.set(bucketKey, hits);
      else this.hits.delete(bucketKey);
    }
  }

  private makeRoom(nowUs: number): void {
    for (const [key, { forgottenUs }] of this.settled) {
      if (this.heldSize + this.settled.size <= this.recordsMax && forgottenUs > nowUs) break;
      this.settled.delete(key);
    }
  }
}
