/** Errors of the Redis client: what a server answered, whether a command was sent, and how the log describes it. */

import { ClientClosedError, ClientOfflineError, ErrorReply } from '@redis/client';
import { ReplyError } from './reply-error';

/** Not connected: nothing has been sent. */
export class NotConnectedError extends Error {
  override readonly name = 'NotConnectedError';

  constructor() {
    super('not connected');
  }
}

/** Whether the command was certainly not sent. */
export function wasNotSent(error: unknown): boolean {
  return error instanceof NotConnectedError || error instanceof ClientOfflineError || error instanceof ClientClosedError;
}

/** How Redis 6 puts the error of a command behind that of the script which called it. */
const OF_SCRIPT = /^ERR Error running script \(call to f_[0-9a-f]{40}\): @user_script:\d+: @user_script: ?\d+: -([A-Z]+) /;

/** The first word of an error that Redis answered, or a command in a script: the rest may contain keys. Undefined for other errors. */
export function errorCodeOf(error: unknown): string | undefined {
  if (!(error instanceof ErrorReply)) return undefined;
  return (OF_SCRIPT.exec(error.message) ?? /^([A-Z]+)/.exec(error.message))?.[1] ?? 'ERR';
}

export function describeError(error: unknown): string {
  const code = errorCodeOf(error);
  if (code !== undefined) return `Redis answered the error ${code}${code === 'NOPERM' ? deniedBy(error) : ''}`;
  if (error instanceof ReplyError) return `a reply is invalid for its command: ${error.fault}`;
  if (!(error instanceof Error)) return String(error);
  const fault = faultOfBytes(error);
  if (fault !== undefined) return fault;
  // For OpenSSL errors, only the reason, without the place in OpenSSL's source.
  return 'library' in error && 'reason' in error ? `TLS: ${String(error.reason)}` : error.message;
}

/** Says what the user of Redis may not do. Redis names the command, which is one of Weir's own, but never the key. */
function deniedBy(error: unknown): string {
  const { message } = error as Error;
  const command = /run the '([\w|-]{1,40})' command/.exec(message)?.[1];
  if (command !== undefined) return `: its user may not run ${command}; add +${command}`;
  return message.includes('key') ? ': its user may not use the keys of Weir; add ~ and CACHE_KEY_PREFIX, or ~*' : '';
}

/** Errors of node-redis for bytes that it cannot parse; it continues with the next bytes, whose meaning is unknown. */
function faultOfBytes(error: Error): string | undefined {
  if (error.message.startsWith('Unknown RESP type')) return 'it sent bytes that are not a reply';
  if ('code' in error) return undefined;
  if (error.name === 'RangeError') return 'it sent a list of an impossible length or depth';
  return error.name === 'TypeError' ? 'it sent a reply without a command' : undefined;
}
