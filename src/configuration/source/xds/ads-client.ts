/** Subscribes to the configurations of a management server (xDS, state of the world), and acknowledges or rejects them. */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  Client,
  Metadata,
  status,
  type ChannelCredentials,
  type ChannelOptions,
  type ClientDuplexStream,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Backoff } from '../../../lib/backoff';
import { Dial } from './dial';
import { RATE_LIMIT_CONFIG_TYPE, type XdsProto } from './proto';
import { readResourceSet, type ResourceSet } from './resource-set';
import type { WireDiscoveryRequest, WireDiscoveryResponse, WireNode } from './wire';

/** Longest wait for a connection, TLS included. */
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * Delay of a repeated NACK: some servers answer a NACK with the same set at once, in an endless
 * loop.
 */
const REPEATED_REFUSAL_MS = 1000;

/** Most bytes of the text of a NACK: management servers accept messages of 4 MiB, and people read less. */
export const REFUSAL_BYTES_MAX = 256 * 1024;

export interface AdsClientOptions {
  readonly proto: XdsProto;
  /** As gRPC writes it: `host:port`. */
  readonly target: string;
  /** Called for each connection, because certificates change. Throws with a message for the operator. */
  readonly credentials: () => ChannelCredentials;
  readonly channel: {
    readonly messageBytesMax: number;
    readonly keepaliveTimeMs: number;
    readonly keepaliveTimeoutMs: number;
    /** The name that the server's certificate must have instead of the host's. */
    readonly serverName?: string | undefined;
  };
  readonly node: WireNode;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly backoff: Backoff;
  /** The first wait after a failed connection attempt. */
  readonly connectRetryMs: number;
  /** The first wait after an established stream ended. */
  readonly streamRetryMs: number;
  /** The backoff resets after a stream that lasted at least this long. */
  readonly steadyMs: number;
  /** Undefined: the whole set is in force. Otherwise none of it is, and this is the reason, with a line for each problem. */
  readonly onSet: (set: ResourceSet) => Promise<string | undefined>;
  readonly onConnected: () => void;
  /** Called each time a stream ends or fails, with the wait before the next try. */
  readonly onLost: (lost: { readonly reason: string; readonly waitMs: number }) => void;
  readonly nowMs: () => number;
}

type Stream = ClientDuplexStream<WireDiscoveryRequest, WireDiscoveryResponse>;

/** The last set and its outcome, which is the same whatever stream repeats the set. */
interface Answered {
  readonly digest: string;
  readonly refusal: string | undefined;
}

export class AdsClient {
  private isStopped = false;
  /** Ends the stream, or the wait for the next one. */
  private interrupt = new AbortController();
  /** The next stream begins as if nothing were in force. */
  private isResubscribing = false;
  private last: Answered | undefined;
  /** Version of the set in force. */
  private acceptedVersion: string | undefined;

  private readonly headers = new Metadata();

  /** Throws if a header is invalid in HTTP/2. */
  constructor(private readonly options: AdsClientOptions) {
    for (const [name, value] of options.headers) this.headers.add(name, name.endsWith('-bin') ? Buffer.from(value) : value);
  }

  /** Resolves once stopped. Never rejects, whatever the server does. */
  async run(): Promise<void> {
    const { backoff, connectRetryMs, streamRetryMs, steadyMs, onLost, nowMs } = this.options;
    while (!this.isStopped) {
      this.interrupt = new AbortController();
      const beganMs = nowMs();
      const { reason, wasConnected } = await this.converse();
      if (this.interrupt.signal.aborted) continue;
      if (nowMs() - beganMs >= steadyMs) backoff.reset();
      const waitMs = backoff.nextMs(wasConnected ? streamRetryMs : connectRetryMs);
      // The reason may be text of the server, but must stay one line of the log.
      onLost({ reason: reason.replace(/\p{Cc}+/gu, ' '), waitMs });
      await this.wait(waitMs);
    }
  }

  stop(): void {
    this.isStopped = true;
    this.interrupt.abort();
  }

  /** Subscribes again at once, on a new connection: the next set is compiled even if it is a repetition. */
  requestAgain(): void {
    this.last = undefined;
    this.isResubscribing = true;
    this.interrupt.abort();
  }

  /** Runs one connection with one stream until it ends. */
  private async converse(): Promise<{ readonly reason: string; readonly wasConnected: boolean }> {
    let client: Client;
    try {
      client = this.openClient();
    } catch (error) {
      // Several files may be unusable; each has a line.
      return { reason: (error as Error).message.split('\n').join('; '), wasConnected: false };
    }
    const stream = this.openStream(client);
    const cancel = (): void => {
      stream.cancel();
    };
    const { signal } = this.interrupt;
    signal.addEventListener('abort', cancel);
    const dial = new Dial({
      channel: client.getChannel(),
      timeoutMs: CONNECT_TIMEOUT_MS,
      onDone: this.options.onConnected,
      onGivenUp: cancel,
    });
    try {
      this.send(stream, { ...(this.isResubscribing ? { type_url: RATE_LIMIT_CONFIG_TYPE } : this.inForce()), node: this.options.node });
      this.isResubscribing = false;
      for await (const response of stream) await this.answer(stream, response as WireDiscoveryResponse);
      return { reason: 'the server has ended the stream', wasConnected: dial.isDone };
    } catch (error) {
      const reason = dial.isGivenUp ? `no connection within ${CONNECT_TIMEOUT_MS / 1000} s` : explain(error as ServiceError);
      return { reason, wasConnected: dial.isDone };
    } finally {
      signal.removeEventListener('abort', cancel);
      dial.end();
      client.close();
    }
  }

  private openClient(): Client {
    const { target, credentials, channel } = this.options;
    const options: ChannelOptions = {
      'grpc.keepalive_time_ms': channel.keepaliveTimeMs,
      'grpc.keepalive_timeout_ms': channel.keepaliveTimeoutMs,
      'grpc.max_receive_message_length': channel.messageBytesMax,
      // Each connection is separate and uses the current certificates.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      // DNS only provides addresses, no service configuration.
      'grpc.service_config_disable_resolution': 1,
      ...(channel.serverName !== undefined && { 'grpc.ssl_target_name_override': channel.serverName }),
    };
    return new Client(target, credentials(), options);
  }

  private openStream(client: Client): Stream {
    const { path, requestSerialize, responseDeserialize } = this.options.proto.stream;
    const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.headers);
    // The reader of the stream gets the error too; failed late writes do not matter.
    stream.on('error', () => undefined);
    return stream;
  }

  private async answer(stream: Stream, response: WireDiscoveryResponse): Promise<void> {
    const { proto, onSet } = this.options;
    const { signal } = this.interrupt;
    const set = await readResourceSet(response, proto.decodeConfig);
    const { last } = this;
    const isKnown = set.digest === last?.digest;
    const refusal = isKnown ? last.refusal : await onSet(set);
    if (isKnown && refusal !== undefined) await this.wait(REPEATED_REFUSAL_MS);
    // The subscription was renewed meanwhile: this answer belongs to the old stream.
    if (signal.aborted) return;
    this.last = { digest: set.digest, refusal };
    if (refusal === undefined) this.acceptedVersion = set.version;
    const nonce = response.nonce === undefined ? {} : { response_nonce: response.nonce };
    this.send(stream, { ...this.inForce(), ...nonce, ...(refusal !== undefined && { error_detail: detailOf(refusal) }) });
  }

  /** The common part of every request: the subscription, and the version in force. */
  private inForce(): WireDiscoveryRequest {
    return { type_url: RATE_LIMIT_CONFIG_TYPE, ...(this.acceptedVersion !== undefined && { version_info: this.acceptedVersion }) };
  }

  private send(stream: Stream, request: WireDiscoveryRequest): void {
    if (!stream.destroyed) stream.write(request);
  }

  /** Waits for that time, or until stopped. */
  private async wait(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.interrupt.signal }).catch(() => undefined);
  }
}

function detailOf(refusal: string): { readonly code: number; readonly message: string } {
  const bytes = Buffer.from(refusal);
  const message = bytes.length <= REFUSAL_BYTES_MAX ? refusal : `${bytes.toString('utf8', 0, REFUSAL_BYTES_MAX)}…`;
  return { code: status.INVALID_ARGUMENT, message };
}

function explain({ code, details, message }: ServiceError): string {
  // Errors from outside of gRPC have no code.
  const name = status[code] as string | undefined;
  if (name === undefined) return message;
  const advice = ADVICE.find(([start]) => details.startsWith(start))?.[1] ?? '';
  // Some messages of grpc-js end with the heading of an empty list.
  return `${name}: ${details.replace(/\.? Resolution note: $/, '')}${advice}`;
}

/** Advice on reasons of grpc-js with this beginning, which give none themselves. */
const ADVICE: readonly (readonly [start: string, advice: string])[] = [
  ['Received message larger than max', '; raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES'],
  // ENHANCE_YOUR_CALM.
  ['Bandwidth exhausted', '; if the server rejects the frequency of PINGs, raise XDS_CLIENT_KEEPALIVE_TIME'],
];
