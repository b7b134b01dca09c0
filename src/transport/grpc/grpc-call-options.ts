/** The timeout that a gRPC call states. */

import type { ServerUnaryCall } from '@grpc/grpc-js';
import type { TakeOptions } from '../../store/port/store';

export function callOptionsOf(call: Pick<ServerUnaryCall<unknown, unknown>, 'getDeadline'>): TakeOptions {
  const deadline = call.getDeadline();
  const timeoutMs = Math.max(0, Number(deadline) - Date.now());
  return Number.isFinite(timeoutMs) ? { timeoutMs } : {};
}
