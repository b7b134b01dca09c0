/** The timeout that a gRPC call states, and its trace context. */

import type { ServerUnaryCall } from '@grpc/grpc-js';
import { readParent, type ParentContext } from '../../observability/tracing/trace-context';
import type { MethodCall } from './grpc-method';

export function callOptionsOf(call: Pick<ServerUnaryCall<unknown, unknown>, 'getDeadline' | 'metadata'>): MethodCall {
  const deadline = call.getDeadline();
  const timeoutMs = Math.max(0, Number(deadline) - Date.now());
  const parent = (): ParentContext =>
    readParent((name) => {
      const [value] = call.metadata.get(name);
      return typeof value === 'string' ? value : undefined;
    });
  return Number.isFinite(timeoutMs) ? { timeoutMs, parent } : { parent };
}
