/** Sends an event to a receiver over HTTP. The receiver is not trusted: its time, its answer and its address are bounded. */

import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { asError } from '../../../lib/errors';
import { isPublicAddress } from './public-address';
import { signatureHeaders } from './signature';

/** An answer beyond this ends the connection; only its status counts. */
const ANSWER_BYTES_MAX = 16_384;
const HEADER_BYTES_MAX = 16_384;

/** Open connections to the receiver. */
const CONNECTIONS_MAX = 16;

export interface WebhookSenderOptions {
  /** With `http:` or `https:`. */
  readonly url: string;
  readonly secrets: readonly Buffer[];
  readonly timeoutMs: number;
  /** Loopback, private and other special addresses too. */
  readonly allowsPrivate: boolean;
  readonly version: string;
  /** In milliseconds since 1970. */
  readonly nowMs: () => number;
  /** Resolves names to addresses. Default: the system's. */
  readonly lookup?: typeof systemLookup;
}

export interface OutgoingEvent {
  readonly id: string;
  readonly body: string;
}

export class WebhookSender {
  private readonly url: URL;
  private readonly agent: http.Agent;

  constructor(private readonly options: WebhookSenderOptions) {
    this.url = new URL(options.url);
    const limits = { keepAlive: true, maxSockets: CONNECTIONS_MAX, maxFreeSockets: 2 };
    this.agent = this.url.protocol === 'https:' ? new https.Agent(limits) : new http.Agent(limits);
  }

  /** Resolves to undefined if the receiver has the event, otherwise to why it may not have it; never rejects. */
  send(event: OutgoingEvent): Promise<string | undefined> {
    const { allowsPrivate, timeoutMs } = this.options;
    const host = this.url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (!allowsPrivate && isIP(host) !== 0 && !isPublicAddress(host)) return Promise.resolve(refusalOf(host));
    return new Promise((resolve) => {
      const request = this.open(event);
      // It also ends an answer that never ends, after it was counted.
      const timer = setTimeout(() => {
        request.destroy(new Error(`no answer within ${timeoutMs} ms`));
      }, timeoutMs);
      request.on('socket', (socket) => {
        this.watch(socket, request);
      });
      request.on('response', (response) => {
        resolve(faultOf(response.statusCode ?? 0));
        drain(response);
      });
      request.on('error', (error) => {
        resolve(causeOf(error));
      });
      request.on('close', () => {
        clearTimeout(timer);
        resolve('the connection was closed');
      });
      request.end(event.body);
    });
  }

  close(): void {
    this.agent.destroy();
  }

  private open({ id, body }: OutgoingEvent): http.ClientRequest {
    const { secrets, version, nowMs } = this.options;
    const options: http.RequestOptions = {
      method: 'POST',
      agent: this.agent,
      lookup: this.lookup,
      maxHeaderSize: HEADER_BYTES_MAX,
      headers: {
        'content-type': 'application/cloudevents+json; charset=utf-8',
        'content-length': Buffer.byteLength(body),
        'user-agent': `weir/${version}`,
        ...signatureHeaders({ id, body, timestampS: Math.floor(nowMs() / 1_000) }, secrets),
      },
    };
    return this.url.protocol === 'https:' ? https.request(this.url, options) : http.request(this.url, options);
  }

  /** The connection goes to an address that this function has passed: no second lookup can name another. */
  private readonly lookup: LookupFunction = (hostname, options, callback) => {
    const { lookup = systemLookup, allowsPrivate } = this.options;
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const addresses: LookupAddress[] = found;
      const refused = addresses.find(({ address }) => !allowsPrivate && !isPublicAddress(address));
      const [first] = addresses;
      if (refused !== undefined) callback(new Error(refusalOf(refused.address)), []);
      else if (first === undefined) callback(new Error(`${hostname} has no address`), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };

  /** A second look at the address itself, in case that the runtime connects by another way. */
  private watch(socket: Socket, request: http.ClientRequest): void {
    if (this.options.allowsPrivate) return;
    const check = (): void => {
      const { remoteAddress = '' } = socket;
      if (!isPublicAddress(remoteAddress)) request.destroy(new Error(refusalOf(remoteAddress)));
    };
    if (socket.connecting) socket.once('connect', check);
    else check();
  }
}

function refusalOf(address: string): string {
  return `${address} is not a public address; set EVENTS_ALLOW_PRIVATE_ADDRESSES=true to allow it`;
}

/** Redirects are not followed: the new place would get what was meant for the old one. */
function faultOf(status: number): string | undefined {
  if (status >= 200 && status < 300) return undefined;
  return status >= 300 && status < 400 ? `the answer ${status} is a redirect, which is not followed` : `the answer is ${status}`;
}

/** Reads a short answer, so that the connection can be used again, and ends a long one. */
function drain(response: http.IncomingMessage): void {
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > ANSWER_BYTES_MAX) response.destroy();
  });
  response.on('error', () => undefined);
}

function causeOf(error: unknown): string {
  const { message } = asError(error);
  const { code } = error as { readonly code?: unknown };
  return message === '' && typeof code === 'string' ? code : message.slice(0, 200);
}
