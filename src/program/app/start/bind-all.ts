/** Binds all ports of a process at the same time, and reports every one that cannot be bound. */

import { asError } from '../../../lib/errors';

/** The bound ports, with port 0 resolved. */
export interface BoundPorts {
  /** A port, or the path of a unix socket. */
  readonly grpc: number | string;
  readonly http: number;
  readonly debug: number;
  readonly admin: number;
}

/** Binds one address. A connection that it accepts waits until the process opens. */
export type Bind = () => Promise<Partial<BoundPorts>>;

/** Rejects with the error of the port that cannot be bound, or with an AggregateError of several. */
export async function bindAll(binds: readonly Bind[]): Promise<Partial<BoundPorts>> {
  const settled = await Promise.allSettled(binds.map((bind) => bind()));
  const errors = settled.flatMap((each) => (each.status === 'rejected' ? [asError(each.reason)] : []));
  const [first, ...others] = errors;
  if (first !== undefined) throw others.length === 0 ? first : new AggregateError(errors, 'several ports cannot be bound');
  const bound: Partial<BoundPorts> = {};
  for (const each of settled) if (each.status === 'fulfilled') Object.assign(bound, each.value);
  return bound;
}
