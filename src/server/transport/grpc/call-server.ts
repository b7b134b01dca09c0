/** A gRPC client of Weir's services, for the command line: one call to one server. */

import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { tlsCredentials, type ClientTls } from './client-credentials';
import { loadProto } from '../messages/proto';
import type { WireDescriptor, WireRequest, WireReserved, WireResponse, WireStepAnswer } from '../messages/wire';

export interface ServerAddress {
  /** `host:port`, or `unix:PATH`. */
  readonly address: string;
  readonly timeoutMs: number;
  /** Absent: no TLS. */
  readonly tls?: ClientTls;
}

export interface CallServerInput extends ServerAddress {
  readonly request: WireRequest;
}

/** Rejects with a ServiceError, whose `code` is the gRPC status. */
export function callServer({ request, ...server }: CallServerInput): Promise<WireResponse> {
  return callMethod(loadProto().rateLimit.ShouldRateLimit, request, server);
}

/** A reservation step as a client sends it; texts are byte strings. */
export interface SentStep {
  readonly domain: string;
  readonly descriptors: readonly WireDescriptor[];
  readonly id: string;
  readonly hits?: string;
  readonly ttl?: { readonly seconds: number; readonly nanos: number };
}

/** A server may omit defaults. */
export interface ReservationAnswers {
  readonly Reserve: Partial<WireReserved>;
  readonly Commit: Partial<WireStepAnswer>;
  readonly Release: Partial<WireStepAnswer>;
  readonly Extend: Partial<WireStepAnswer>;
}

/** Rejects with a ServiceError, whose `code` is the gRPC status. */
export async function callReservations<Name extends keyof ReservationAnswers>(
  name: Name,
  step: SentStep,
  server: ServerAddress,
): Promise<ReservationAnswers[Name]> {
  const method = loadProto().reservations[name];
  if (method === undefined) throw new Error(`proto/ has no method ${name}`);
  const { path, requestSerialize, responseDeserialize } = method;
  const toBytes = ({ entries = [], ...rest }: WireDescriptor) => ({
    ...rest,
    entries: entries.map(({ key = '', value = '' }) => ({ key: Buffer.from(key, 'latin1'), value: Buffer.from(value, 'latin1') })),
  });
  const message = { ...step, domain: Buffer.from(step.domain, 'latin1'), descriptors: step.descriptors.map(toBytes) };
  const answer = await callMethod({ path, requestSerialize, responseDeserialize }, message, server);
  return answer;
}

interface Method<Request, Response> {
  readonly path: string;
  readonly requestSerialize: (request: Request) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Response;
}

async function callMethod<Request, Response>(
  method: Method<Request, Response>,
  request: Request,
  { address, timeoutMs, tls }: ServerAddress,
): Promise<Response> {
  const { path, requestSerialize, responseDeserialize } = method;
  const client = new Client(address, tls === undefined ? credentials.createInsecure() : tlsCredentials(tls));
  try {
    return await new Promise<Response>((resolve, reject) => {
      const deadline = Date.now() + timeoutMs;
      const done = (error: ServiceError | null, response?: Response) => {
        if (error === null && response !== undefined) resolve(response);
        else reject(error ?? new Error('an answer without a message'));
      };
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, done);
    });
  } finally {
    client.close();
  }
}
