/** The port of the outbox: events that are appended once for each mark, claimed by one process at a time, and delivered. */

/** Most events of an outbox, and most bytes of their texts together. */
export const OUTBOX_EVENTS_MAX = 10_000;
export const OUTBOX_BYTES_MAX = 16 * 1024 * 1024;

/** Most bytes of the text of an event. */
export const EVENT_BYTES_MAX = 8_192;

/** Events of each list of `read`. */
export const LISTED_MAX = 50;

/** Most marks of one call. */
export const MARKS_MAX = 100;

/** An event, and the mark that it comes with once. */
export interface Mark {
  /** Printable ASCII without spaces, of at most 128 characters. */
  readonly key: string;
  /** The id of the event: printable ASCII without spaces. If the mark stays for a time, the time of the store is added. */
  readonly id: string;
  /** The event without its id, as JSON. */
  readonly text: string;
  /** From this time on the event is too late, in milliseconds since 1970 by the store's clock. Absent: never. */
  readonly lateAfterMs?: number;
  /** For how long the mark stays. Absent: until the event is too late, or without end if it never is. */
  readonly staysMs?: number;
}

/**
 * The outcome for a mark. `known`: it was set before. `full`: the outbox is, so the mark was not set either, and the next try may set it.
 */
export type MarkOutcome = 'added' | 'known' | 'late' | 'full';

export interface MarkResult {
  readonly outcome: MarkOutcome;
  /** When the mark ends, in milliseconds since 1970 by the store's clock; Infinity: never. */
  readonly endsMs: number;
}

/** The outbox as an answer of the store shows it. */
export interface OutboxFacts {
  /** The store's clock, in milliseconds since 1970. */
  readonly nowMs: number;
  /** There was no outbox before this call: never, or the store lost it. One call alone gets this answer. */
  readonly isNew: boolean;
  readonly events: number;
  /** Age of the oldest event; 0 without events. */
  readonly oldestMs: number;
}

export interface AddAnswer extends OutboxFacts {
  /** In the order of the marks. */
  readonly results: readonly MarkResult[];
}

export interface OutboxEvent {
  readonly id: string;
  /** As in `Mark`. */
  readonly text: string;
  /** When it was appended, in milliseconds since 1970. */
  readonly appendedMs: number;
  /** Tries to deliver it so far; of a claimed event with this one. */
  readonly tries: number;
}

export interface ClaimedEvent extends OutboxEvent {
  readonly number: number;
}

export interface ClaimAnswer extends OutboxFacts {
  readonly claimed: readonly ClaimedEvent[];
  /** Events that the store had lost in part, and dropped. */
  readonly gone: number;
}

export interface ClaimInput {
  readonly max: number;
  readonly leaseMs: number;
}

/** How the delivery of a claimed event ended. */
export interface Settlement {
  readonly number: number;
  readonly ending: 'delivered' | 'undelivered' | 'again';
  /** For `again`: the wait before the next try. */
  readonly waitMs: number;
}

/** `atMs`: when it is due, or when it was delivered or given up. */
export interface ListedEvent extends OutboxEvent {
  readonly atMs: number;
}

export interface OutboxList {
  readonly events: number;
  /** When the oldest event was appended; absent: there is none. */
  readonly oldestAtMs?: number;
  /** How many there were in all since the outbox began. */
  readonly deliveredCount: number;
  readonly undeliveredCount: number;
  /** At most LISTED_MAX of each: those due first, and the latest of the others, the last one first. */
  readonly waiting: readonly ListedEvent[];
  readonly delivered: readonly ListedEvent[];
  readonly undelivered: readonly ListedEvent[];
}

/** Rejects with a StoreError if the store cannot answer. */
export interface Outbox {
  /** At most MARKS_MAX. */
  add(marks: readonly Mark[]): Promise<AddAnswer>;
  claim(input: ClaimInput): Promise<ClaimAnswer>;
  /** Resolves to whether each event was still in the outbox. */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;
  read(): Promise<OutboxList>;
}

export interface OutboxBounds {
  /** Default: OUTBOX_EVENTS_MAX. */
  readonly eventsMax?: number;
  /** Default: OUTBOX_BYTES_MAX. */
  readonly bytesMax?: number;
}
