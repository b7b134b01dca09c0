/** What the debug port serves: the rules as loaded, and the metrics. */

import { textReply, type Route } from './http-server';

export interface DebugRoutesOptions {
  /** One line for each configured rule, without a line end. */
  readonly configLines: () => readonly string[];
  readonly metrics: MetricsText;
}

/** The metrics for Prometheus; a registry is one. */
export interface MetricsText {
  readonly contentType: string;
  metrics(): Promise<string>;
}

export function debugRoutes({ configLines, metrics }: DebugRoutesOptions): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>([
    ['/metrics', async () => ({ status: 200, contentType: metrics.contentType, body: await metrics.metrics() })],
    ['/rlconfig', () => textReply(200, lines(configLines()))],
  ]);
  const paths = [...routes.keys()].sort();
  return routes.set('/', () => textReply(200, lines(paths)));
}

function lines(items: readonly string[]): string {
  return items.map((item) => `${item}\n`).join('');
}
