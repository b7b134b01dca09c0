/** The client of the admin API: one typed call for each operation, over HTTP or HTTPS. */

import { request as requestHttp, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { asError } from '../../../lib/errors';
import { AdminError, refusalOf } from './admin-error';
import { OPERATIONS, type Operations } from '../../../administration/admin-client/operations';

export type OperationId = keyof Operations;

/** The path parameters, the query and the body of an operation. */
export type Input<Id extends OperationId> = Omit<Operations[Id], 'reply'>;

export interface AdminClientOptions {
  readonly url: URL;
  /** Absent: the API needs none (ADMIN_AUTH=off). */
  readonly token?: string;
  readonly tls: ClientTls;
  /** Time for a whole reply; for a stream: until it begins. */
  readonly timeoutMs: number;
  /** The options of the command, for messages. */
  readonly options: readonly string[];
}

export interface ClientTls {
  /** PEM. Absent: the CAs of Node. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Preconditions of a write. */
export interface Preconditions {
  readonly ifMatch?: string;
  readonly ifNoneMatch?: '*';
}

/** A larger reply, or line of a stream, is refused. */
const REPLY_BYTES_MAX = 67_108_864;

/** The server sends something every 15 s; a stream without it for longer is dead. */
const SILENCE_MS_MAX = 60_000;

interface Parts {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
}

export class AdminClient {
  constructor(private readonly connection: AdminClientOptions) {}

  /** Rejects with AdminError unless the operation succeeds. */
  async call<Id extends OperationId>(id: Id, input: Input<Id>, conditions: Preconditions = {}): Promise<Operations[Id]['reply']> {
    const { timeoutMs } = this.connection;
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      deadline.abort();
    }, timeoutMs);
    try {
      const reply = await this.open(id, input, { conditions, signal: deadline.signal });
      return parseReply(await readAll(reply)) as Operations[Id]['reply'];
    } catch (error) {
      throw deadline.signal.aborted ? this.late() : this.explain(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The lines of a reply as they come: JSON lines, or those of server-sent events. Ends with the reply, or the signal. */
  async *lines<Id extends OperationId>(id: Id, input: Input<Id>, signal?: AbortSignal): AsyncGenerator<string> {
    const { timeoutMs } = this.connection;
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      deadline.abort();
    }, timeoutMs);
    try {
      const signals = signal === undefined ? [deadline.signal] : [deadline.signal, signal];
      const reply = await this.open(id, input, { conditions: {}, signal: AbortSignal.any(signals) });
      clearTimeout(timer);
      reply.setTimeout(SILENCE_MS_MAX, () => reply.destroy(new AdminError(`nothing came for ${SILENCE_MS_MAX / 1_000} s`)));
      yield* linesOf(reply);
    } catch (error) {
      if (signal?.aborted === true) return;
      throw deadline.signal.aborted ? this.late() : this.explain(error);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Resolves to a successful reply. */
  private async open(
    id: OperationId,
    input: Parts,
    { conditions, signal }: { readonly conditions: Preconditions; readonly signal: AbortSignal },
  ): Promise<IncomingMessage> {
    const { method, path } = OPERATIONS[id];
    const { token, tls, options } = this.connection;
    const { body } = input;
    const url = this.urlOf(path, input);
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept: 'application/json, application/x-ndjson, text/event-stream, application/problem+json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
      ...(conditions.ifMatch !== undefined && { 'if-match': conditions.ifMatch }),
      ...(conditions.ifNoneMatch !== undefined && { 'if-none-match': conditions.ifNoneMatch }),
    };
    const common = { method, headers, agent: false, signal } as const;
    const request = url.protocol === 'https:' ? requestHttps(url, { ...common, ...tls }) : requestHttp(url, common);
    const reply = await send(request, text);
    const { statusCode: status = 0 } = reply;
    if (status === 200) return reply;
    throw refusalOf(status, await readAll(reply), options);
  }

  private urlOf(path: string, { params = {}, query = {} }: Parts): URL {
    const { url } = this.connection;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const target = new URL(`${url.href.replace(/\/$/, '')}${filled}`);
    for (const [name, value] of Object.entries(query)) target.searchParams.set(name, String(value));
    return target;
  }

  private late(): AdminError {
    const { url, timeoutMs } = this.connection;
    return new AdminError(`no answer from ${url.href} within ${timeoutMs} ms; check the server, or raise --timeout`);
  }

  private explain(thrown: unknown): AdminError {
    if (thrown instanceof AdminError) return thrown;
    const error = asError(thrown);
    const { code = '' } = error as NodeJS.ErrnoException;
    const reason = error.message === '' ? code : error.message;
    const isTls = /CERT|SSL|TLS|ISSUER|SIGN|EPROTO/.test(code);
    const advice = isTls
      ? 'check https in WEIR_ADMIN_URL, and the CA in WEIR_ADMIN_CA_FILE or --ca'
      : 'check WEIR_ADMIN_URL, and that the server has ADMIN_PORT';
    return new AdminError(`no answer from ${this.connection.url.href}: ${reason}; ${advice}`);
  }
}

function send(request: ClientRequest, body: string | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('error', reject);
    request.once('response', resolve);
    request.end(body);
  });
}

async function readAll(reply: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > REPLY_BYTES_MAX) throw new AdminError(`the reply exceeds ${REPLY_BYTES_MAX} bytes; ask for less`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function* linesOf(reply: IncomingMessage): AsyncGenerator<string> {
  reply.setEncoding('utf8');
  let rest = '';
  for await (const chunk of reply as AsyncIterable<string>) {
    const parts = `${rest}${chunk}`.split('\n');
    rest = parts.pop() ?? '';
    if (rest.length > REPLY_BYTES_MAX) throw new AdminError(`a line of the reply exceeds ${REPLY_BYTES_MAX} bytes`);
    yield* parts;
  }
  if (rest !== '') yield rest;
}

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AdminError('the reply is not JSON; check that WEIR_ADMIN_URL is the admin port of Weir');
  }
}
