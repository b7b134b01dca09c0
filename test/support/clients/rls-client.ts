/** A gRPC client of the rate limit service, for tests and benchmarks. */

import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { loadProto } from '../../../src/server/transport/messages/proto';
import type { WireDescriptor, WireRequest, WireResponse } from '../../../src/server/transport/messages/wire';

const { path, requestSerialize, responseDeserialize } = loadProto().rateLimit.ShouldRateLimit;

/** The codes of `WireResponse`. */
export const OK = 1;
export const OVER_LIMIT = 2;

export interface AskedDescriptor extends Omit<WireDescriptor, 'entries'> {
  /** Keys and values, in order. */
  readonly entries: Readonly<Record<string, string>>;
}

export interface AskOptions {
  readonly timeoutMs?: number;
  /** Beside those of gRPC. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class RlsClient {
  private readonly client: Client;

  constructor(port: number) {
    // A channel of its own: grpc-js would share one connection between clients of the same address.
    this.client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  }

  /** Rejects with a ServiceError, whose `code` is the gRPC status. */
  ask(domain: string, descriptors: readonly AskedDescriptor[], options: AskOptions = {}): Promise<WireResponse> {
    const wire = descriptors.map(({ entries, ...rest }) => ({ ...rest, entries: Object.entries(entries).map(toWireEntry) }));
    return this.askRaw({ domain: toByteString(domain), descriptors: wire }, options);
  }

  /** The same for text that is no UTF-8: the message's own byte strings. */
  askRaw(request: WireRequest, { timeoutMs, headers = {} }: AskOptions = {}): Promise<WireResponse> {
    const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return new Promise((resolve, reject) => {
      const done = (error: ServiceError | null, response?: WireResponse) => {
        if (error === null) resolve(response!);
        else reject(error);
      };
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, metadata, options, done);
    });
  }

  close(): void {
    this.client.close();
  }
}

function toWireEntry([key, value]: readonly [string, string]) {
  return { key: toByteString(key), value: toByteString(value) };
}
