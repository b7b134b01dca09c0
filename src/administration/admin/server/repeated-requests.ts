/** Idempotency-Key: a repeated request gets the reply of the first one. */

import { createHash } from 'node:crypto';
import { AdminProblem } from '../problem';

/** For how long a reply is kept, in milliseconds. */
const KEPT_MS = 600_000;

/** Most replies that are kept; beyond it the oldest is dropped. */
const KEPT_MAX = 1_000;

const KEY = /^[!-~]{1,255}$/;

export interface RepeatableRequest {
  readonly key: string;
  readonly caller: string;
  /** Method, path and body. */
  readonly content: string;
}

interface Kept<Reply> {
  readonly digest: string;
  readonly untilMs: number;
  readonly reply: Promise<Reply>;
}

export class RepeatedRequests<Reply> {
  /** By caller and key, oldest first. */
  private readonly kept = new Map<string, Kept<Reply>>();

  constructor(private readonly nowMs: () => number) {}

  /**
   * Runs the request, unless one with its key is under way or has succeeded. One that fails is not kept.
   *
   * @throws AdminProblem if the key is invalid, or belongs to another request
   */
  run({ key, caller, content }: RepeatableRequest, request: () => Promise<Reply>): Promise<Reply> {
    if (!KEY.test(key)) throw AdminProblem.ofField('header/idempotency-key', 'it must have 1 to 255 printable characters');
    const place = `${caller} ${key}`;
    const digest = createHash('sha256').update(content).digest('base64');
    const known = this.kept.get(place);
    if (known !== undefined && known.untilMs > this.nowMs()) {
      if (known.digest === digest) return known.reply;
      throw new AdminProblem('idempotency-key-reused', 'this Idempotency-Key belongs to another request; use a new one');
    }
    const reply = request();
    this.kept.delete(place);
    this.kept.set(place, { digest, untilMs: this.nowMs() + KEPT_MS, reply });
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= KEPT_MAX) break;
      this.kept.delete(oldest);
    }
    reply.catch(() => this.kept.delete(place));
    return reply;
  }
}
