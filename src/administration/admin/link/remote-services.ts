/** Calls from the thread of the admin API to services of the deciding process. */

import { BadRequestError, UnavailableError } from '../../../lib/errors';
import { AdminProblem } from '../problem';
import type { FailureReason, FromThread, ProcessServices, ToThread } from './messages';

/** A call without an answer after this fails, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** Most calls that wait for their answers. */
const WAITING_MAX = 1_000;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export class RemoteServices {
  private readonly waiting = new Map<number, Waiting>();
  private calls = 0;

  constructor(private readonly send: (message: FromThread) => void) {}

  /** The service of this name. Its methods send their argument, which must be plain data. */
  service<Name extends keyof ProcessServices>(name: Name): ProcessServices[Name] {
    const handler: ProxyHandler<object> = {
      get: (_, method) => (argument: unknown) => this.call(name, String(method), argument),
    };
    return new Proxy({}, handler) as ProcessServices[Name];
  }

  /** Handles an answer of the process. */
  onAnswer(message: Extract<ToThread, { kind: 'answer' | 'failure' }>): void {
    const waiting = this.waiting.get(message.call);
    if (waiting === undefined) return;
    this.waiting.delete(message.call);
    clearTimeout(waiting.timer);
    if (message.kind === 'answer') waiting.resolve(message.value);
    else waiting.reject(toError(message));
  }

  private call(service: keyof ProcessServices, method: string, argument: unknown): Promise<unknown> {
    if (this.waiting.size >= WAITING_MAX) return Promise.reject(new UnavailableError('too many admin requests wait; try again'));
    this.calls += 1;
    const call = this.calls;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waiting.delete(call);
        reject(new UnavailableError('the deciding process is too busy to answer; try again'));
      }, TIMEOUT_MS);
      this.waiting.set(call, { resolve, reject, timer });
      this.send({ kind: 'call', call, service, method, argument });
    });
  }
}

function toError({ message, reason }: { readonly message: string; readonly reason: FailureReason }): Error {
  if (reason === 'unavailable') return new UnavailableError(message);
  if (reason === 'not-supported') return new AdminProblem('not-supported', message);
  return reason === 'invalid' ? new BadRequestError(message) : new Error(message);
}
