/** A client of the rate limit service: one call to a server over gRPC, for the command line. */

import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { tlsCredentials, type ClientTls } from './client-credentials';
import { loadProto } from './proto';
import type { WireRequest, WireResponse } from './wire';

export interface CallServerInput {
  /** `host:port`, or `unix:` and a path. */
  readonly address: string;
  readonly request: WireRequest;
  readonly timeoutMs: number;
  /** Absent: without TLS. */
  readonly tls?: ClientTls;
}

/** Rejects with a ServiceError, whose `code` is the gRPC status. */
export async function callServer({ address, request, timeoutMs, tls }: CallServerInput): Promise<WireResponse> {
  const { path, requestSerialize, responseDeserialize } = loadProto().rateLimit.ShouldRateLimit;
  const client = new Client(address, tls === undefined ? credentials.createInsecure() : tlsCredentials(tls));
  try {
    return await new Promise<WireResponse>((resolve, reject) => {
      const deadline = Date.now() + timeoutMs;
      const done = (error: ServiceError | null, response?: WireResponse) => {
        if (error === null && response !== undefined) resolve(response);
        else reject(error ?? new Error('an answer without a message'));
      };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, done);
    });
  } finally {
    client.close();
  }
}
