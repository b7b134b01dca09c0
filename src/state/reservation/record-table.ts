/** Reservation records in this process's memory: those held, the hits that they hold, and the most recent settled ones. */

import type { Leg, ReservationRecord } from '../../domain/decide/reservation';
import { LapseOrder } from './lapse-order';
import { TooManyReservationsError, type ReservationName } from './reservations';

/** Maximum of reservations that lapse in one step of a sweep. */
export const SWEPT_AT_ONCE = 100;

/** Approximate bytes of a record and of a leg in the heap, without the id and the key of the bucket. */
const RECORD_BYTES = 400;
const LEG_BYTES = 250;

export interface Kept {
  readonly name: ReservationName;
  readonly legs: readonly Leg[];
  readonly record: ReservationRecord;
  /** A Reserve with a lost reply may have made it in Redis too. Absent: it did not. */
  readonly mayBeInRedis?: boolean;
}

interface Held extends Kept {
  readonly bytes: number;
}

interface Settled extends Held {
  readonly forgottenUs: number;
}

interface HeldOfTag {
  readonly byId: Map<string, Held>;
  readonly order: LapseOrder;
}

export interface RecordTableOptions {
  readonly recordsMax: number;
  /** Maximum of bytes, approximately. */
  readonly bytesMax: number;
}

export class RecordTable {
  private readonly held = new Map<string, HeldOfTag>();
  private heldSize = 0;
  private heldBytes = 0;
  /** By tag and id, least recently changed first. */
  private readonly settled = new Map<string, Settled>();
  private settledBytes = 0;
  /** By bucket. */
  private readonly hits = new Map<string, number>();

  /** Beyond the bounds the oldest settled records are dropped; if all are held, new reservations are rejected. */
  constructor(private readonly options: RecordTableOptions) {}

  /** Held hits by bucket. */
  get heldHits(): ReadonlyMap<string, number> {
    return this.hits;
  }

  /** Records, held and settled. */
  get size(): number {
    return this.heldSize + this.settled.size;
  }

  heldOf(tag: string): number {
    return this.held.get(tag)?.byId.size ?? 0;
  }

  /** The time at which the first reservation of the tag lapses; undefined: none is held. */
  firstUs(tag: string): number | undefined {
    return this.held.get(tag)?.order.first()?.expiresUs;
  }

  find({ tag, id }: ReservationName, nowUs: number): Kept | undefined {
    const held = this.held.get(tag)?.byId.get(id);
    if (held !== undefined) return held;
    const settled = this.settled.get(`${tag} ${id}`);
    return settled !== undefined && settled.forgottenUs > nowUs ? settled : undefined;
  }

  /** The expired reservations of the tag, oldest first, as many as one step of a sweep lapses. */
  due(tag: string, nowUs: number): readonly Kept[] {
    const ofTag = this.held.get(tag);
    if (ofTag === undefined) return [];
    return ofTag.order.due(nowUs, SWEPT_AT_ONCE).flatMap(({ id }) => ofTag.byId.get(id) ?? []);
  }

  /** Replaces the record with the same name. */
  keep(kept: Kept, nowUs: number): void {
    this.drop(kept.name);
    const { name, record } = kept;
    const { tag, id } = name;
    if (record.state === 'held') {
      const ofTag = this.held.get(tag) ?? openTag();
      this.held.set(tag, ofTag);
      const held = { ...kept, bytes: bytesOf(kept) };
      ofTag.byId.set(id, held);
      ofTag.order.add({ id, expiresUs: record.expiresUs });
      this.count(held, 1);
    } else {
      // Only a lapsed one may still be committed.
      const legs = record.state === 'lapsed' ? kept.legs : [];
      const settled = { ...kept, legs, bytes: bytesOf({ ...kept, legs }) };
      this.settledBytes += settled.bytes;
      this.settled.set(`${tag} ${id}`, { ...settled, forgottenUs: nowUs + record.keepUs + Math.max(0, record.expiresUs - nowUs) });
    }
    this.makeRoom(nowUs);
  }

  /** Forgets the record of that name. */
  drop({ tag, id }: ReservationName): void {
    const ofTag = this.held.get(tag);
    const held = ofTag?.byId.get(id);
    if (ofTag !== undefined && held !== undefined) {
      ofTag.byId.delete(id);
      this.count(held, -1);
      if (ofTag.byId.size === 0) this.held.delete(tag);
    }
    this.forget(`${tag} ${id}`);
  }

  /** Counts hits as held that are being decided; the answer ends that. */
  holdMeanwhile(legs: readonly Leg[], hits: number): () => void {
    for (const { bucketKey } of legs) this.addHits(bucketKey, hits);
    return () => {
      for (const { bucketKey } of legs) this.addHits(bucketKey, -hits);
    };
  }

  /** @throws TooManyReservationsError */
  checkRoom(): void {
    const { recordsMax, bytesMax } = this.options;
    if (this.heldSize >= recordsMax)
      throw new TooManyReservationsError(`over ${recordsMax} reservations are held in this instance; commit or release some`);
    if (this.heldBytes >= bytesMax)
      throw new TooManyReservationsError(`the reservations held in this instance take over ${bytesMax} bytes; commit or release some`);
  }

  private count({ legs, record: { charges }, bytes }: Held, sign: 1 | -1): void {
    this.heldSize += sign;
    this.heldBytes += sign * bytes;
    for (const [i, { bucketKey }] of legs.entries()) this.addHits(bucketKey, sign * (charges[i]?.charged ?? 0));
  }

  private addHits(bucketKey: string, added: number): void {
    const hits = (this.hits.get(bucketKey) ?? 0) + added;
    if (hits > 0) this.hits.set(bucketKey, hits);
    else this.hits.delete(bucketKey);
  }

  private forget(key: string): void {
    this.settledBytes -= this.settled.get(key)?.bytes ?? 0;
    this.settled.delete(key);
  }

  private makeRoom(nowUs: number): void {
    const { recordsMax, bytesMax } = this.options;
    for (const [key, { forgottenUs }] of this.settled) {
      const isFull = this.size > recordsMax || this.heldBytes + this.settledBytes > bytesMax;
      if (!isFull && forgottenUs > nowUs) break;
      this.forget(key);
    }
  }
}

function openTag(): HeldOfTag {
  const byId = new Map<string, Held>();
  return { byId, order: new LapseOrder(byId) };
}

function bytesOf({ name, legs }: Kept): number {
  let bytes = RECORD_BYTES + name.id.length + name.tag.length;
  for (const { bucketKey } of legs) bytes += LEG_BYTES + bucketKey.length;
  return bytes;
}
