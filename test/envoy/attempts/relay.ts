/** Stands between Envoy and Weir, and keeps each call with its answer: what Envoy asked, and what Weir charged. */
import { connect, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { BadRequestError } from '../../../src/lib/errors';
import { decodeRequest } from '../../../src/server/transport/messages/decode-request';
import { loadProto } from '../../../src/server/transport/messages/proto';
import type { WireRequest, WireResponse } from '../../../src/server/transport/messages/wire';

const { path: METHOD, responseDeserialize } = loadProto().rateLimit.ShouldRateLimit;
const FRAME_HEADER = 5;

/** A descriptor of a call, and what its limit is. */
export interface Asked {
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  /** Negative: given back. */
  readonly hits: number;
  /** Of its unit; undefined: nothing limits it. */
  readonly limit: number | undefined;
}

export interface Call {
  readonly passed: boolean;
  readonly descriptors: readonly Asked[];
}

export interface Relay {
  readonly port: number;
  /** The calls of a domain since the last time. */
  taken(domain: string): readonly Call[];
  /** Calls of a domain that Weir has not answered yet. */
  open(domain: string): number;
  /** Calls whose domain is not known yet. */
  unread(): number;
  stop(): Promise<void>;
}

export async function startRelay(weirPort: number): Promise<Relay> {
  const weir = connect(`http://127.0.0.1:${weirPort}`);
  const calls = new Map<string, Call[]>();
  const open = new Map<string, number>();
  const count = (domain: string, change: number) => open.set(domain, (open.get(domain) ?? 0) + change);
  let unread = 0;
  const server = createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    void pass(stream, headers);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return {
    port: (server.address() as AddressInfo).port,
    taken: (domain) => {
      const all = calls.get(domain) ?? [];
      calls.delete(domain);
      return all;
    },
    open: (domain) => open.get(domain) ?? 0,
    unread: () => unread,
    stop: async () => {
      weir.destroy();
      for (const session of sessions) session.destroy();
      await new Promise<void>((closed) =>
        server.close(() => {
          closed();
        }),
      );
    },
  };

  async function pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    stream.on('error', () => undefined);
    unread += 1;
    const question = await bodyOf(stream);
    unread -= 1;
    // Envoy gave the call up before it was sent.
    if (question.length < FRAME_HEADER || question.length < FRAME_HEADER + question.readUInt32BE(1)) return;
    const asked = headers[':path'] === METHOD ? decodeRequest(question.toString('latin1', FRAME_HEADER)) : {};
    if (asked instanceof BadRequestError) throw asked;
    const { domain = '' } = asked;
    count(domain, 1);
    const { ':path': path = '', 'content-type': type = 'application/grpc' } = headers;
    const call = weir.request({ ':path': path, ':method': 'POST', 'content-type': type, te: 'trailers' });
    call.on('error', () => undefined);
    let answered: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    call.on('response', (each: IncomingHttpHeaders) => (answered = each));
    call.on('trailers', (each: IncomingHttpHeaders) => (trailers = each));
    call.end(question);
    const answer = await bodyOf(call);
    keep(asked, answer);
    count(domain, -1);
    if (stream.destroyed) return;
    const { ':status': status, 'content-type': answerType } = answered;
    stream.respond({ ':status': status, 'content-type': answerType }, { waitForTrailers: true });
    stream.once('wantTrailers', () => {
      stream.sendTrailers(Object.fromEntries(Object.entries(trailers).filter(([name]) => !name.startsWith(':'))));
    });
    stream.end(answer);
  }

  function keep(asked: WireRequest, answer: Buffer): void {
    if (asked.domain === undefined || answer.length < FRAME_HEADER) return;
    const { overall_code: code, statuses }: WireResponse = responseDeserialize(answer.subarray(FRAME_HEADER));
    const { domain } = asked;
    const descriptors = (asked.descriptors ?? []).map(({ entries = [], hits_addend: own, is_negative_hits: isRefund = false }, index) => {
      const hits = own === undefined ? (asked.hits_addend ?? 0) || 1 : Number(own.value ?? 0);
      const limit = statuses[index]?.current_limit?.requests_per_unit;
      return {
        entries: entries.map(({ key = '', value = '' }) => ({ key, value })),
        hits: isRefund ? -hits : hits,
        limit,
      };
    });
    calls.set(domain, [...(calls.get(domain) ?? []), { passed: code === 1, descriptors }]);
  }
}

function bodyOf(stream: NodeJS.ReadableStream): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A call that its caller gives up has no end, but is closed.
    for (const event of ['end', 'close'])
      stream.once(event, () => {
        resolve(Buffer.concat(chunks));
      });
  });
}
