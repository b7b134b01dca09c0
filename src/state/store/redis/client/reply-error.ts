/** An invalid reply of Redis. */

import { StoreError } from '../../port/store-error';

/**
 * The reply is invalid for its command. Later replies on that connection may belong to other calls, so
 * the connection is closed; Redis may have run the call.
 */
export class ReplyError extends StoreError {
  constructor(
    /** Says what is wrong with the reply, for the operator. Never contains a key. */
    readonly fault: string,
  ) {
    super('the store returned an invalid reply', 'script');
  }
}
