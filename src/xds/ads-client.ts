/** Subscribes to the configurations of a management server (xDS, state of the world), and answers which were accepted. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Metadata, status, type ChannelCredentials, type ChannelOptions, type ClientDuplexStream, type ServiceError } from '@grpc/grpc-js';
import type { Backoff } from '../backoff';
import { Dial } from './dial';
import { RATE_LIMIT_CONFIG_TYPE, type XdsProto } from './proto';
import { readResourceSet, type ResourceSet } from './resource-set';
import type { WireDiscoveryRequest, WireDiscoveryResponse, WireNode } from './wire';

/** How long a connection may take to be there, with TLS and all. */
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * How long a refusal of what has just been refused is held back: there are servers that answer a refusal with the
 * same again, at once and without end.
 */
const REPEATED_REFUSAL_MS = 1000;

/** Most bytes of the text of a refusal: management servers take messages of 4 MiB, and people read less. */
export const REFUSAL_BYTES_MAX = 256 * 1024;

export interface AdsClientOptions {
  readonly proto: XdsProto;
  /** As gRPC writes it: `host:port`. */
  readonly target: string;
  /** Made for each connection anew, as certificates change. Throws with a message for people. */
  readonly credentials: () => ChannelCredentials;
  readonly channel: {
    readonly messageBytesMax: number;
    readonly keepaliveTimeMs: number;
    readonly keepaliveTimeoutMs: number;
    /** The name that the server's certificate must have in place of the host's. */
    readonly serverName?: string | undefined;
  };
  readonly node: WireNode;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly backoff: Backoff;
  /** The first wait after a connection that did not come about. */
  readonly connectRetryMs: number;
  /** The first wait after one that ended. */
  readonly streamRetryMs: number;
  /** A conversation that lasted so long was a good one: what ends it is the first failure again. */
  readonly settledMs: number;
  /** Undefined: all of it is in force. Else nothing is, and this says why, a line for each problem. */
  readonly onSet: (set: ResourceSet) => Promise<string | undefined>;
  readonly onConnected: () => void;
  /** Told each time that there is no conversation, and when the next one is tried. */
  readonly onLost: (lost: { readonly reason: string; readonly waitMs: number }) => void;
  readonly nowMs: () => number;
}

type Stream = ClientDuplexStream<WireDiscoveryRequest, WireDiscoveryResponse>;

/** What came last, and what was said to it: told once, whatever stream it comes on again. */
interface Answered {
  readonly digest: string;
  readonly refusal: string | undefined;
}

export class AdsClient {
  private isStopped = false;
  /** Ends the conversation, or the wait for the next one. */
  private interrupt = new AbortController();
  /** The next conversation begins as if nothing were in force. */
  private isAskedAnew = false;
  private last: Answered | undefined;
  /** Of the set in force. */
  private acceptedVersion: string | undefined;

  private readonly headers = new Metadata();

  /** Throws if a header is none that HTTP/2 has. */
  constructor(private readonly options: AdsClientOptions) {
    for (const [name, value] of options.headers) this.headers.add(name, name.endsWith('-bin') ? Buffer.from(value) : value);
  }

  /** Resolves once stopped. Never rejects for what a server does. */
  async run(): Promise<void> {
    const { backoff, connectRetryMs, streamRetryMs, settledMs, onLost, nowMs } = this.options;
    while (!this.isStopped) {
      this.interrupt = new AbortController();
      const beganMs = nowMs();
      const { reason, wasConnected } = await this.converse();
      if (this.interrupt.signal.aborted) continue;
      if (nowMs() - beganMs >= settledMs) backoff.reset();
      const waitMs = backoff.nextMs(wasConnected ? streamRetryMs : connectRetryMs);
      // The reason may be the server's own words: it stays one line of the log.
      onLost({ reason: reason.replace(/\p{Cc}+/gu, ' '), waitMs });
      await this.wait(waitMs);
    }
  }

  stop(): void {
    this.isStopped = true;
    this.interrupt.abort();
  }

  /** Asks for all there is, on a new connection and at once: what comes is taken up even if it has been before. */
  askAnew(): void {
    this.last = undefined;
    this.isAskedAnew = true;
    this.interrupt.abort();
  }

  /** One connection with one stream, to its end. */
  private async converse(): Promise<{ readonly reason: string; readonly wasConnected: boolean }> {
    let client: Client;
    try {
      client = this.openClient();
    } catch (error) {
      // Several files may be unusable, with a line for each.
      return { reason: (error as Error).message.split('\n').join('; '), wasConnected: false };
    }
    const stream = this.openStream(client);
    const cancel = (): void => {
      stream.cancel();
    };
    const { signal } = this.interrupt;
    signal.addEventListener('abort', cancel);
    const dial = new Dial({ channel: client.getChannel(), timeoutMs: CONNECT_TIMEOUT_MS, onDone: this.options.onConnected, onGivenUp: cancel });
    try {
      this.send(stream, { ...(this.isAskedAnew ? { type_url: RATE_LIMIT_CONFIG_TYPE } : this.inForce()), node: this.options.node });
      this.isAskedAnew = false;
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
      // Each connection is one of its own, with the certificates of now.
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_retries': 0,
      // What DNS says of the place is where it is, and nothing else.
      'grpc.service_config_disable_resolution': 1,
      ...(channel.serverName !== undefined && { 'grpc.ssl_target_name_override': channel.serverName }),
    };
    return new Client(target, credentials(), options);
  }

  private openStream(client: Client): Stream {
    const { path, requestSerialize, responseDeserialize } = this.options.proto.stream;
    const stream = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, this.headers);
    // Whoever reads the stream hears of it too; what is written too late is nobody's matter.
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
    // The conversation was begun anew meanwhile: this answer belongs to the old one.
    if (signal.aborted) return;
    this.last = { digest: set.digest, refusal };
    if (refusal === undefined) this.acceptedVersion = set.version;
    const nonce = response.nonce === undefined ? {} : { response_nonce: response.nonce };
    this.send(stream, { ...this.inForce(), ...nonce, ...(refusal !== undefined && { error_detail: detailOf(refusal) }) });
  }

  /** Every request begins with it: what is asked for, and what of it is in force. */
  private inForce(): WireDiscoveryRequest {
    return { type_url: RATE_LIMIT_CONFIG_TYPE, ...(this.acceptedVersion !== undefined && { version_info: this.acceptedVersion }) };
  }

  private send(stream: Stream, request: WireDiscoveryRequest): void {
    if (!stream.destroyed) stream.write(request);
  }

  /** Until then, or until stopped. */
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
  // What is thrown by others than gRPC has no code.
  const name = status[code] as string | undefined;
  if (name === undefined) return message;
  const advice = ADVICE.find(([start]) => details.startsWith(start))?.[1] ?? '';
  // grpc-js ends some of them with the head of a list that is empty.
  return `${name}: ${details.replace(/\.? Resolution note: $/, '')}${advice}`;
}

/** What to do about a reason of grpc-js that begins so, and does not say it by itself. */
const ADVICE: readonly (readonly [start: string, advice: string])[] = [
  ['Received message larger than max', '; raise XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES'],
  // ENHANCE_YOUR_CALM.
  ['Bandwidth exhausted', '; if it is the PINGs that the server finds too many, raise XDS_CLIENT_KEEPALIVE_TIME'],
];
