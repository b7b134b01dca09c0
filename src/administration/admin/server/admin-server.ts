/** The HTTP server of the admin API: the routes of the table, with authentication, roles, validation and problem details. */

import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { TSchema } from '@sinclair/typebox';
import { monotonicNowMs } from '../../../lib/clock';
import { asError, BadRequestError, UnavailableError } from '../../../lib/errors';
import { refuseUntilOpen, type Gate } from '../../../lib/gate';
import { ConnectionGuard, GUARDED_MESSAGES } from '../../../lib/wire/guarded-server';
import type { AdminChoice } from '../../../configuration/settings/admin-choice';
import type { Authenticator } from '../auth/authenticator';
import { SessionCookie } from '../auth/session-cookie';
import type { AdminBackend } from '../backend';
import { openApiOf } from './openapi';
import { AdminProblem, type ProblemName } from '../problem';
import type { CountedRequest } from '../request-counts';
import { mayActAs } from '../role';
import type { AdminReply, AdminRoute, CallHeaders } from '../route/route';
import { Admission } from './admission';
import type { ConsoleFiles } from './console-files';
import { streamEvents } from './event-stream';
import { PageOrigins } from './page-origins';
import { RepeatedRequests } from './repeated-requests';
import { compileValidator, type Part } from './validation';

export interface AdminServerOptions
  extends Pick<AdminChoice, 'needsAuth' | 'bodyBytesMax' | 'pageMax'>, Partial<Pick<AdminChoice, 'usageOrigins'>> {
  readonly routes: readonly AdminRoute[];
  readonly backend: AdminBackend;
  readonly authenticator: Pick<Authenticator, 'authenticate' | 'recheck'>;
  /** The port for the name of the cookie of sessions. */
  readonly port: number;
  /** Undefined: the server has no console. */
  readonly consoleFiles?: ConsoleFiles | undefined;
  /** Undefined: no TLS. `requestCert`: clients must present a certificate of `ca`. */
  readonly tls?: TlsOptions | undefined;
  readonly version: string;
  /** Requests wait until it opens; absent: it is open. */
  readonly gate?: Gate;
  /** Called after each request. */
  readonly onAnswered?: (answered: CountedRequest) => void;
  /** Called with the number of open streams when it changes. */
  readonly onStreams?: (open: number) => void;
  /** Called for bugs, with the operation. */
  readonly onError: (error: Error, operation: string) => void;
}

export interface TlsOptions extends SecureContextOptions {
  readonly requestCert?: boolean;
}

/** Most connections; operators and their tools need few. */
const CONNECTIONS_MAX = 256;

/** A request must be complete within this, in milliseconds. */
const REQUEST_TIMEOUT_MS = 30_000;

const HANDSHAKE_TIMEOUT_MS = 10_000;

/** Longest part of a path: 255 bytes, each as a percent sign and two digits. */
const PARAM_CHARS_MAX = 1_024;

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

const PARTS: Readonly<Record<string, Part>> = { params: 'path', querystring: 'query', body: 'body' };

/** Problems for errors of fastify. */
const FASTIFY_PROBLEMS: Readonly<Record<string, readonly [ProblemName, string]>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['body-too-large', 'the body exceeds ADMIN_BODY_BYTES_MAX; send less'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['unsupported-media-type', 'send the body as Content-Type: application/json'],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['invalid', 'the body is not as long as Content-Length says'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['invalid', 'the body is not JSON'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['invalid', 'the body is empty; send a JSON object'],
  FST_ERR_MAX_PARAM_LENGTH: ['not-found', `no item has a name of over ${PARAM_CHARS_MAX} characters`],
  // The caller has gone, so nobody reads the answer; and Weir has no fault.
  ECONNRESET: ['invalid', 'the body ended early'],
  FST_ERR_BAD_URL: ['invalid', 'the path has a % that is not followed by two hexadecimal digits'],
};

interface Answered {
  readonly reply: AdminReply;
}

export class AdminServer {
  private readonly server: FastifyInstance;
  private readonly repeated = new RepeatedRequests<Answered>(monotonicNowMs);
  private readonly admission: Admission;
  private readonly pageOrigins: PageOrigins;
  private readonly cookie: SessionCookie;
  private readonly streams = new Set<() => void>();
  private readonly streaming = new WeakSet<FastifyRequest>();
  /** The paths of the console. */
  private readonly files: ReadonlySet<string>;

  constructor(private readonly options: AdminServerOptions) {
    const { bodyBytesMax, tls, routes, version, needsAuth, authenticator, port } = options;
    const cookie = new SessionCookie({ port, isSecure: tls !== undefined });
    this.cookie = cookie;
    this.pageOrigins = new PageOrigins(
      options.usageOrigins ?? [],
      new Set(routes.filter(({ isForPages }) => isForPages === true).map(({ path }) => toUrl(path))),
    );
    this.files = new Set(options.consoleFiles?.paths);
    this.admission = new Admission({ needsAuth, authenticator, cookie, nowMs: monotonicNowMs });
    const common = {
      bodyLimit: bodyBytesMax,
      requestTimeout: REQUEST_TIMEOUT_MS,
      exposeHeadRoutes: false,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: PARAM_CHARS_MAX },
      frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) => void this.fail(reply, error, 'router'),
    };
    this.server = (
      tls === undefined
        ? fastify({ ...common, http: GUARDED_MESSAGES })
        : fastify({ ...common, https: { minVersion: 'TLSv1.2', handshakeTimeout: HANDSHAKE_TIMEOUT_MS, ...GUARDED_MESSAGES, ...tls } })
    ) as FastifyInstance;
    new ConnectionGuard(this.server.server, { connectionsMax: CONNECTIONS_MAX });
    if (options.gate !== undefined) refuseUntilOpen(this.server.server, options.gate);
    this.acceptEmptyBodies();
    this.server.setValidatorCompiler<TSchema>(({ schema, httpPart = 'body' }) => compileValidator(schema, PARTS[httpPart] ?? 'body'));
    this.server.setErrorHandler((error, request, reply) =>
      this.fail(reply, asError(error), `${request.method} ${request.routeOptions.url ?? '?'}`),
    );
    this.server.setNotFoundHandler((request, reply) => this.fail(reply, this.noRoute(request, reply), 'router'));
    this.server.addHook('onRequest', (request, reply) => this.admit(request, reply));
    const ids = new Map(routes.map((each) => [`${each.method} ${toUrl(each.path)}`, each.id]));
    this.server.addHook('onResponse', (request, reply, done) => {
      const operation = ids.get(`${request.method} ${request.routeOptions.url ?? ''}`) ?? 'none';
      const isStream = this.streaming.has(request);
      options.onAnswered?.({ operation, status: reply.raw.statusCode, ...(!isStream && { seconds: reply.elapsedTime / 1_000 }) });
      done();
    });
    for (const url of this.files) this.server.get(url, (request, reply) => options.consoleFiles?.send(request, reply));
    // Made when somebody asks for it: most processes never serve it.
    let document: string | undefined;
    this.server.get('/v1/openapi.json', (_, reply) => {
      document ??= JSON.stringify(openApiOf({ routes, version }));
      return reply.headers(HEADERS).type('application/json').send(document);
    });
    for (const each of routes) this.add(each);
    this.pageOrigins.addTo(this.server);
  }

  /** Rejects if the address cannot be bound. */
  async listen(place: { readonly host: string; readonly port: number }): Promise<{ readonly port: number }> {
    await this.server.listen(place);
    return { port: (this.server.server.address() as AddressInfo).port };
  }

  /** Uses other certificates for new connections. */
  renew(tls: SecureContextOptions): void {
    const { server } = this.server;
    if ('setSecureContext' in server)
      (server as unknown as { setSecureContext: (options: SecureContextOptions) => void }).setSecureContext(tls);
  }

  /** Ends streams, and closes all connections. */
  async close(): Promise<void> {
    for (const end of this.streams) end();
    await this.server.close();
  }

  /** Many clients send the same Content-Type with each request, also with a DELETE that has no body. */
  private acceptEmptyBodies(): void {
    const parse = this.server.getDefaultJsonParser('error', 'error');
    const needsBody = new Set(this.options.routes.filter(({ body }) => body !== undefined).map(({ method }) => method as string));
    this.server.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, text, done) => {
      if (text === '' && !needsBody.has(request.method)) done(null, undefined);
      else void parse(request, text, done);
    });
  }

  private add(each: AdminRoute): void {
    const { method, path, params, query, body, role } = each;
    this.server.route({
      method,
      url: toUrl(path),
      schema: { ...(params && { params }), ...(query && { querystring: query }), ...(body && { body }) },
      onRequest: (request, _reply, done) => {
        const caller = this.admission.callerOf(request);
        if (mayActAs(caller.role, role)) done();
        else done(new AdminProblem('forbidden', `this needs the role ${role}, and ${caller.name} has the role ${caller.role}`));
      },
      handler: (request, reply) => this.answer(each, request, reply),
    });
  }

  /** The files of the console have nothing secret: a browser needs them before somebody signs in. */
  private async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { gate } = this.options;
    if (gate?.isOpen === false) await gate.opened;
    if (this.pageOrigins.allow(request, reply)) this.admission.checkHost(request);
    else if (this.files.has(request.routeOptions.url ?? '')) this.admission.checkHost(request);
    else await this.admission.admit(request);
  }

  private async answer(each: AdminRoute, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { backend, pageMax } = this.options;
    const caller = this.admission.callerOf(request);
    const headers = headersOf(request);
    const { params, query, body } = request;
    const handle = async (): Promise<Answered> => ({
      reply: await each.handle({ params, query, body, caller, session: this.admission.deskOf(request), headers, pageMax }, backend),
    });
    const { idempotencyKey: key } = headers;
    const answered =
      each.isIdempotentByKey === true && key !== undefined
        ? await this.repeated.run({ key, caller: caller.name, content: JSON.stringify([each.id, params, query, body]) }, handle)
        : await handle();
    return this.send(each, { request, reply, answer: answered.reply, headers });
  }

  private send(each: AdminRoute, { request, reply, answer, headers }: SendInput): FastifyReply {
    void reply.headers(HEADERS);
    if ('events' in answer) {
      reply.hijack();
      const end = streamEvents(reply.raw, HEADERS, answer.events);
      this.streams.add(end);
      this.streaming.add(request);
      this.options.onStreams?.(this.streams.size);
      request.raw.once('close', () => {
        this.streams.delete(end);
        this.options.onStreams?.(this.streams.size);
      });
      return reply;
    }
    if ('lines' in answer) return reply.type('application/x-ndjson').send(Readable.from(toLines(answer.lines)));
    const { etag, body, sessionId } = answer;
    if (sessionId !== undefined) void reply.header('set-cookie', this.cookie.write(sessionId));
    if (etag !== undefined) void reply.header('etag', etag);
    if (each.condition === 'read' && etag !== undefined && matches(headers.ifNoneMatch, etag)) return reply.code(304).send();
    return reply.type('application/json').send(JSON.stringify(body));
  }

  private noRoute({ url }: FastifyRequest, reply: FastifyReply): AdminProblem {
    const [path = ''] = url.split('?');
    const methods = this.options.routes.filter(({ path: template }) => toPattern(template).test(path)).map(({ method }) => method);
    if (methods.length === 0) return new AdminProblem('not-found', 'the path does not exist; GET /v1/openapi.json lists all paths');
    void reply.header('allow', methods.join(', '));
    return new AdminProblem('method-not-allowed', `the path has only the methods ${methods.join(', ')}`);
  }

  private fail(reply: FastifyReply, error: Error, operation: string): FastifyReply {
    const problem = toProblem(error);
    if (problem.problem === 'internal') this.options.onError(error, operation);
    void reply.headers(HEADERS).code(problem.status).type('application/problem+json');
    if (problem.problem === 'unauthenticated') void reply.header('www-authenticate', 'Bearer realm="weir"');
    if (problem.retryAfterS !== undefined) void reply.header('retry-after', String(problem.retryAfterS));
    return reply.send(JSON.stringify(problem.toDetails()));
  }
}

interface SendInput {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly answer: AdminReply;
  readonly headers: CallHeaders;
}

function toProblem(error: Error): AdminProblem {
  if (error instanceof AdminProblem) return error;
  if (error instanceof UnavailableError) return new AdminProblem('unavailable', error.message);
  if (error instanceof BadRequestError) return new AdminProblem('invalid', error.message);
  const { code = '' } = error as NodeJS.ErrnoException;
  const [name, detail] =
    FASTIFY_PROBLEMS[code] ?? (code.startsWith('FST_ERR_CTP') ? (['invalid', 'the body is not JSON'] as const) : INTERNAL);
  return new AdminProblem(name, detail);
}

const INTERNAL = ['internal', 'an internal error; see the log of Weir'] as const;

function headersOf({ headers }: FastifyRequest): CallHeaders {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch, 'idempotency-key': idempotencyKey } = headers;
  return {
    ...(ifMatch !== undefined && { ifMatch }),
    ...(ifNoneMatch !== undefined && { ifNoneMatch }),
    ...(typeof idempotencyKey === 'string' && { idempotencyKey }),
  };
}

/** Whether If-None-Match names the ETag. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch === '*' || ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag);
}

/** As the router writes it. */
function toUrl(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function toPattern(template: string): RegExp {
  return new RegExp(`^${template.replace(/\./g, '\\.').replace(/\{\w+\}/g, '[^/]+')}$`);
}

async function* toLines(items: AsyncIterable<unknown>): AsyncGenerator<string> {
  for await (const item of items) yield `${JSON.stringify(item)}\n`;
}
