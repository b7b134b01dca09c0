/** Events of this instance: a line of its health check appeared, or is gone. A line that comes and goes has one event a minute at most. */

import { EVENT_TYPES, eventText, type EventType } from './event-text';
import type { Mark } from './outbox';

/** Shortest time between two events of a line, in milliseconds. */
export const QUIET_MS = 60_000;

/** Lines that are followed; the health has a handful. */
const LINES_MAX = 32;

export interface DegradationsParts {
  /** Names this process among all that are or were. */
  readonly instance: string;
  /** Queues an event of this process. */
  readonly add: (mark: Mark) => void;
  /** The lines of the health check, such as `degraded: redis`. */
  readonly lines: () => readonly string[];
  /** A clock that never steps, in milliseconds. */
  readonly nowMs: () => number;
  /** In milliseconds since 1970. */
  readonly wallMs: () => number;
}

interface Followed {
  /** Whether the last event said that it is degraded. */
  isDegraded: boolean;
  sentMs: number;
}

export class Degradations {
  private readonly followed = new Map<string, Followed>();
  private sent = 0;

  constructor(private readonly parts: DegradationsParts) {}

  /** Compares the lines with those of the last events. Called about once a second. */
  look(): void {
    const present = new Set(this.parts.lines());
    const nowMs = this.parts.nowMs();
    for (const line of new Set([...this.followed.keys(), ...present])) {
      const isDegraded = present.has(line);
      let known = this.followed.get(line);
      if (known === undefined) {
        if (this.followed.size >= LINES_MAX) continue;
        this.followed.set(line, (known = { isDegraded: false, sentMs: -Infinity }));
      }
      if (known.isDegraded === isDegraded || nowMs - known.sentMs < QUIET_MS) continue;
      known.isDegraded = isDegraded;
      known.sentMs = nowMs;
      this.send(line, isDegraded ? EVENT_TYPES.degraded : EVENT_TYPES.recovered);
    }
  }

  private send(line: string, type: EventType): void {
    const { instance, add, wallMs } = this.parts;
    this.sent += 1;
    const name = `${instance}.${this.sent}`;
    const text = eventText({ type, subject: line, atMs: wallMs(), data: { instance, line } });
    add({ key: name, id: `instance.${name}`, text });
  }
}
