/** The interface of a client, and its options. */

import type { FailureOptions, Limiter, WaitBoundOptions } from '../limiter/limiter';

/** PEM texts. */
export interface ClientTls {
  /** CAs that must have signed the server's certificate. Default: those that Node trusts. */
  readonly ca?: string | Buffer;
  /** The certificate of this client, with its key. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
}

export interface ClientOptions extends FailureOptions, WaitBoundOptions {
  /** `HOST:PORT`, or a target of grpc-js, such as `dns:///weir.default.svc:8081` or `unix:/run/weir.sock`. */
  readonly address: string;
  /** Deadline of a call, in milliseconds. Default: 20, as Envoy waits. */
  readonly timeoutMs?: number;
  /** Connections to each address that the name resolves to. Default: 2, so that a Service with one address reaches more than one instance. */
  readonly connections?: number;
  /** Calls that may wait at once; the failure mode decides those beyond it. Default: 10,000. */
  readonly inFlightMax?: number;
  /** Default: false, no TLS. */
  readonly tls?: boolean | ClientTls;
}

export interface Client extends Limiter {
  /** Resolves to true when a connection is open, or to false after this time (default: 5000 ms). Without it, the first calls may fail while the client still connects. */
  ready(options?: { readonly timeoutMs?: number }): Promise<boolean>;
}
