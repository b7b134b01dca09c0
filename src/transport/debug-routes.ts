/** What the debug port serves: the rules as loaded, and the metrics. */

import type { Registry } from 'prom-client';
import { textReply, type Route } from './http-server';

export interface DebugRoutesOptions {
  /** One line for each configured rule, without a line end. */
  readonly configLines: () => readonly string[];
  readonly registry: Registry;
}

export function debugRoutes({ configLines, registry }: DebugRoutesOptions): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>([
    ['/metrics', async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() })],
    ['/rlconfig', () => textReply(200, lines(configLines()))],
  ]);
  const paths = [...routes.keys()].sort();
  return routes.set('/', () => textReply(200, lines(paths)));
}

function lines(items: readonly string[]): string {
  return items.map((item) => `${item}\n`).join('');
}
