/** Values of a log in messages. */

import type { ByteString } from '../../../../domain/descriptor/descriptor';

const SHOWN_MAX = 40;

/** A value of a line in a message. */
export function shown(value: ByteString): string {
  return JSON.stringify(Buffer.from(value.slice(0, SHOWN_MAX), 'latin1').toString('utf8'));
}
