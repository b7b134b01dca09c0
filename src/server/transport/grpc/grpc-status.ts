/** gRPC status codes, the code of each failure kind, and the maximum message size. */

import type { FailureKind } from '../answer';

/** The codes that this server sends, and CANCELLED for a call that its client ended. grpc-js exports them too, but takes 40 ms of CPU to load. */
export const status = {
  OK: 0,
  CANCELLED: 1,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
} as const;

export type Status = (typeof status)[keyof typeof status];

/** Maximum size of a message; larger ones get RESOURCE_EXHAUSTED before they are decoded. */
export const GRPC_MESSAGE_BYTES_MAX = 4 * 1024 * 1024;

export const STATUS_OF: Readonly<Record<FailureKind, Status>> = {
  bad_request: status.INVALID_ARGUMENT,
  unavailable: status.UNAVAILABLE,
  fault: status.INTERNAL,
};
