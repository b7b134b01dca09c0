/** The HTTP reply to a request that got no decision. */

import type { Failure, FailureKind } from '../answer';
import { textReply, type HttpReply } from './http-server';

const STATUS_OF: Readonly<Record<FailureKind, number>> = { bad_request: 400, unavailable: 503, fault: 500 };

export function failureReply({ kind, message }: Failure): HttpReply {
  return textReply(STATUS_OF[kind], `${message}\n`);
}
