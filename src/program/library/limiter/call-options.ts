/** Checks the options of a call. */

import { InvalidRequestError } from './invalid-request-error';
import type { CallOptions, WaitOptions } from './limiter';
import { isFields, kindOf, unknownName } from './read-option';

const CALL_NAMES = ['signal', 'timeoutMs'];
const WAIT_NAMES = ['maxMs', ...CALL_NAMES];

/** @throws InvalidRequestError */
export function readCallOptions(options: CallOptions): CallOptions {
  return readNames(options, { names: CALL_NAMES, place: 'check' });
}

/** @throws InvalidRequestError */
export function readWaitOptions(options: WaitOptions): WaitOptions {
  return readNames(options, { names: WAIT_NAMES, place: 'wait' });
}

function readNames<Options extends CallOptions>(
  options: Options,
  { names, place }: { readonly names: readonly string[]; readonly place: string },
): Options {
  if (!isFields(options))
    throw new InvalidRequestError(`the second argument of ${place} is ${kindOf(options)}; set { ${names.join(', ')} }`);
  const sentence = unknownName(options, { names, place: `the second argument of ${place}` });
  if (sentence !== undefined) throw new InvalidRequestError(sentence);
  const { signal } = options;
  if (signal !== undefined && typeof (signal as Partial<AbortSignal> | null)?.throwIfAborted !== 'function')
    throw new InvalidRequestError(`signal is ${kindOf(signal)}; set an AbortSignal`);
  return options;
}
