/** What both transports say the same: the status of each failure, and how large a message may be. */

import { status } from '@grpc/grpc-js';
import type { FailureKind } from './answer';

/** Bytes of one message; what is larger is answered RESOURCE_EXHAUSTED before it is decoded. */
export const GRPC_MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

export const STATUS_OF: Readonly<Record<FailureKind, status>> = {
  bad_request: status.INVALID_ARGUMENT,
  unavailable: status.UNAVAILABLE,
  fault: status.INTERNAL,
};
