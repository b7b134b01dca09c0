/** Answers the calls of the thread of the admin API in the deciding process. */

import { asError, BadRequestError, UnavailableError } from '../../../lib/errors';
import { AdminProblem } from '../problem';
import type { FailureReason, FromThread, ProcessServices, ToThread } from './messages';

type Call = Extract<FromThread, { kind: 'call' }>;

/** Resolves to the message with the answer, or with the failure. */
export async function answerCall({ call, service, method, argument }: Call, services: ProcessServices): Promise<ToThread> {
  try {
    const methods = services[service] as unknown as Readonly<Record<string, ((argument: unknown) => Promise<unknown>) | undefined>>;
    const value = await methods[method]?.(argument);
    return { kind: 'answer', call, value };
  } catch (error) {
    return { kind: 'failure', call, message: asError(error).message, reason: reasonOf(error) };
  }
}

function reasonOf(error: unknown): FailureReason {
  if (error instanceof UnavailableError) return 'unavailable';
  if (error instanceof AdminProblem) return error.problem === 'not-supported' ? 'not-supported' : 'invalid';
  return error instanceof BadRequestError ? 'invalid' : 'fault';
}
