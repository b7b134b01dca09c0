/** Lets web pages of some origins call some routes (https://fetch.spec.whatwg.org/#http-cors-protocol). Credentials are a header, never a cookie. */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** A browser asks again after this time whether it may, in seconds. */
const KNOWN_FOR_S = 600;

export class PageOrigins {
  private readonly origins: ReadonlySet<string>;

  constructor(
    origins: readonly string[],
    private readonly urls: ReadonlySet<string>,
  ) {
    this.origins = new Set(origins);
  }

  /** Answers the questions of browsers before a request with a header of its own. */
  addTo(server: FastifyInstance): void {
    if (this.origins.size > 0) for (const url of this.urls) server.options(url, (_, reply) => reply.code(204).send());
  }

  /** Sets the headers of the answer; true for a question of a browser, which has no credentials. */
  allow({ method, routeOptions: { url = '' }, headers: { origin } }: FastifyRequest, reply: FastifyReply): boolean {
    if (this.origins.size === 0 || !this.urls.has(url)) return false;
    void reply.header('vary', 'Origin');
    if (origin !== undefined && this.origins.has(origin.toLowerCase())) {
      void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': 'retry-after' });
      if (method === 'OPTIONS')
        void reply.headers({
          'access-control-allow-methods': 'GET',
          'access-control-allow-headers': 'authorization',
          'access-control-max-age': String(KNOWN_FOR_S),
        });
    }
    return method === 'OPTIONS';
  }
}
