/** One small server in each framework, with the middleware of the library in front of the same routes. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { getRequestListener } from '@hono/node-server';
import express from 'express';
import Fastify, { type FastifyRequest } from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import * as forExpress from '../../../src/program/library/middleware/express';
import * as forFastify from '../../../src/program/library/middleware/fastify';
import * as forHono from '../../../src/program/library/middleware/hono';
import * as forKoa from '../../../src/program/library/middleware/koa';
import type { Descriptor, Limiter, LimitResult } from '../../../src/program/library/limiter/limiter';

export const DOMAIN = 'shop';

export interface ServerOptions {
  readonly limiter: Pick<Limiter, 'check'> & Partial<Pick<Limiter, 'wait'>>;
  readonly waitMs?: number;
  /** Default: the caller of the header `x-caller`. */
  readonly descriptors?: (request: IncomingMessage) => readonly Descriptor[] | undefined;
  readonly onFailure?: (error: Error) => void;
  /** Answers denials with 418 and this text. */
  readonly deniedText?: string;
}

export interface FrameworkServer {
  readonly url: string;
  /** How often a handler behind the middleware has run. */
  readonly handled: () => number;
  close(): Promise<void>;
}

export const PARTS = ['one ', 'two ', 'three'];
const TEAPOT = 418;

function callerOf({ headers }: Pick<IncomingMessage, 'headers'>): readonly Descriptor[] {
  return [{ caller: String(headers['x-caller']) }];
}

function parts(): Readable {
  return Readable.from(PARTS.map((part) => Buffer.from(part)));
}

async function textOf(body: AsyncIterable<unknown>): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks).toString();
}

interface Counted extends Required<Pick<ServerOptions, 'descriptors'>>, Omit<ServerOptions, 'descriptors'> {
  readonly count: () => void;
}

interface Common extends Pick<ServerOptions, 'limiter' | 'waitMs'> {
  readonly domain: string;
  readonly onFailure?: (error: Error) => void;
}

function commonOf({ limiter, waitMs, onFailure }: Counted): Common {
  return { limiter, domain: DOMAIN, ...(waitMs !== undefined && { waitMs }), ...(onFailure && { onFailure }) };
}

function expressApp(options: Counted): RequestListener {
  const app = express();
  const { descriptors, deniedText, count } = options;
  app.use(
    forExpress.rateLimit({
      ...commonOf(options),
      descriptors,
      ...(deniedText !== undefined && {
        onDenied: (_result: LimitResult, _request: express.Request, response: express.Response) => {
          response.status(TEAPOT).send(deniedText);
        },
      }),
    }),
  );
  app.use((_request, _response, next) => {
    count();
    next();
  });
  app.get('/ok', (_request, response) => {
    response.send('ok');
  });
  app.get('/stream', (_request, response) => {
    parts().pipe(response);
  });
  app.post('/echo', async (request, response) => {
    response.send(await textOf(request));
  });
  app.use((error: Error, _request: express.Request, response: express.Response, next: express.NextFunction) => {
    if (response.headersSent) next(error);
    else response.status(500).send(error.message);
  });
  return app;
}

async function fastifyApp(options: Counted): Promise<RequestListener> {
  const app = Fastify();
  const { descriptors, deniedText, count } = options;
  await app.register(forFastify.rateLimitPlugin, {
    ...commonOf(options),
    descriptors: ({ raw }: FastifyRequest) => descriptors(raw),
    ...(deniedText !== undefined && {
      onDenied: (_result: LimitResult, _request: unknown, reply: forFastify.FastifyReplyLike) => {
        reply.code(TEAPOT);
        reply.send(deniedText);
      },
    }),
  });
  app.addHook('onRequest', () => {
    count();
    return Promise.resolve();
  });
  app.addContentTypeParser('*', (_request, _payload, done) => {
    done(null);
  });
  app.get('/ok', () => 'ok');
  app.get('/stream', (_request, reply) => reply.send(parts()));
  app.post('/echo', (request) => textOf(request.raw));
  await app.ready();
  return (request, response) => {
    app.routing(request, response);
  };
}

function honoApp(options: Counted): RequestListener {
  const app = new Hono<{ Bindings: { incoming: IncomingMessage } }>();
  const { descriptors, deniedText, count } = options;
  app.use(
    forHono.rateLimit({
      ...commonOf(options),
      descriptors: (context: { env: { incoming: IncomingMessage } } & forHono.HonoContext) => descriptors(context.env.incoming),
      ...(deniedText !== undefined && { onDenied: () => new Response(deniedText, { status: TEAPOT }) }),
    }),
  );
  app.use(async (_context, next) => {
    count();
    await next();
  });
  app.get('/ok', (context) => context.text('ok'));
  app.get('/stream', () => new Response(Readable.toWeb(parts()) as ReadableStream<Uint8Array>));
  app.post('/echo', async (context) => context.text(await context.req.text()));
  app.onError((error, context) => context.text(error.message, 500));
  const listen = getRequestListener(app.fetch);
  return (request, response) => {
    void listen(request, response);
  };
}

function koaApp(options: Counted): RequestListener {
  const app = new Koa();
  const { descriptors, deniedText, count } = options;
  app.silent = true;
  app.use(
    forKoa.rateLimit<Koa.Context>({
      ...commonOf(options),
      descriptors: ({ req }) => descriptors(req),
      ...(deniedText !== undefined && {
        onDenied: (_result: LimitResult, context: Koa.Context) => {
          context.status = TEAPOT;
          context.body = deniedText;
        },
      }),
    }),
  );
  app.use(async (context) => {
    count();
    if (context.path === '/stream') context.body = parts();
    else context.body = context.path === '/echo' ? await textOf(context.req) : 'ok';
  });
  const listen = app.callback();
  return (request, response) => {
    void listen(request, response);
  };
}

const APPS = { express: expressApp, fastify: fastifyApp, hono: honoApp, koa: koaApp } as const;

export type Framework = keyof typeof APPS;

export const FRAMEWORKS = Object.keys(APPS) as Framework[];

export async function startFramework(
  framework: Framework,
  { descriptors = callerOf, ...options }: ServerOptions,
): Promise<FrameworkServer> {
  let handled = 0;
  const count = (): void => {
    handled += 1;
  };
  const server: Server = createServer(await APPS[framework]({ ...options, descriptors, count }));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    handled: () => handled,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
