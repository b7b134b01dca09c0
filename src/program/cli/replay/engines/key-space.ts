/** The keys of a replay that is decided by key: their numbers, and which of them are forgotten when there are too many. */

import { KeyTable } from '../../../offline/keyed/key-table';
import { NO_KEY } from '../../../offline/keyed/keyed-engine';
import { NO_TEXTS, type LogEvent } from '../event/log-event';

/** The data about keys that one engine has. */
export interface KeyData {
  /** The time from which on the bucket of a key is full again; 0: it is full. */
  endOf(form: number, key: number): number;
  keep(form: number, kept: Int32Array): void;
}

/** After keys were forgotten, at most this part of the room is in use. */
const KEPT_MAX = 0.75;

/** A request whose keys have numbers. Such objects are used again, because the garbage collector would copy each new one while it waits for earlier lines. */
export interface KeyedEvent extends LogEvent {
  /** By form: the key, or NO_KEY. */
  readonly keys: Int32Array;
  isHeld: boolean;
}

type OpenEvent = { -readonly [Field in keyof KeyedEvent]: KeyedEvent[Field] };

export class KeySpace {
  /** Keys that were forgotten before their buckets were full again. */
  evictions = 0;
  readonly tables: readonly KeyTable[];
  private readonly data: KeyData[] = [];
  private readonly events: OpenEvent[] = [];
  private readonly free: OpenEvent[] = [];
  /** The time of the request that was decided last. */
  private decidedUs = 0;
  /** By form: the number of keys at which some are forgotten. */
  private readonly fullAt: number[];

  constructor(
    forms: number,
    private readonly keysMax: number,
  ) {
    this.tables = Array.from({ length: forms }, () => new KeyTable());
    this.fullAt = this.tables.map(() => keysMax);
  }

  add(data: KeyData): void {
    this.data.push(data);
  }

  /** The same request by the numbers of its keys, until it is given back. */
  hold({ timeUs, hits, bytes, texts }: LogEvent): KeyedEvent {
    const event = this.free.pop() ?? this.makeEvent();
    event.timeUs = timeUs;
    event.hits = hits;
    event.bytes = bytes;
    event.isHeld = true;
    event.keys.fill(NO_KEY);
    for (let form = 0; form < this.tables.length; form += 1) {
      const text = texts[form];
      const table = this.tables[form];
      if (text === undefined || table === undefined) continue;
      if (table.size >= (this.fullAt[form] ?? 0)) this.forget(form, table);
      event.keys[form] = table.numberOf(text);
    }
    return event;
  }

  /** The request was decided, so its object may be used again. */
  giveBack(event: LogEvent): void {
    const own = event as OpenEvent;
    this.decidedUs = own.timeUs;
    own.isHeld = false;
    this.free.push(own);
  }

  private makeEvent(): OpenEvent {
    const keys = new Int32Array(this.tables.length);
    const event = { timeUs: 0, request: undefined, texts: NO_TEXTS, hits: 1, bytes: 0, number: 0, keys, isHeld: false };
    this.events.push(event);
    return event;
  }

  /** Forgets the keys whose buckets are full, and if those are too few, the oldest; never one of a request that is not decided yet. */
  private forget(form: number, table: KeyTable): void {
    const held = new Set(this.events.filter(({ isHeld }) => isHeld).map(({ keys }) => keys[form]));
    const alive: number[] = [];
    for (let key = 0; key < table.size; key += 1)
      if (held.has(key) || this.data.some((each) => each.endOf(form, key) > this.decidedUs)) alive.push(key);
    let tooMany = Math.max(0, alive.length - Math.floor(this.keysMax * KEPT_MAX));
    const kept = Int32Array.from(
      alive.filter((key) => {
        if (tooMany === 0 || held.has(key)) return true;
        tooMany -= 1;
        this.evictions += 1;
        return false;
      }),
    );
    for (const each of this.data) each.keep(form, kept);
    table.keep(kept);
    const numbers = new Map(Array.from(kept, (key, number) => [key, number] as const));
    for (const { isHeld, keys } of this.events) if (isHeld) keys[form] = numbers.get(keys[form] ?? NO_KEY) ?? NO_KEY;
    this.fullAt[form] = Math.max(this.keysMax, 2 * kept.length);
  }
}
