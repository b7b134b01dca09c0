/** The parts of envoy.yaml and envoyfilter.yaml that ask Weir, in the same shape for both. */
import { documentsOf } from './manifests';

export interface HttpFilter {
  readonly name: string;
  readonly typed_config: object;
}

interface Route {
  readonly match: { readonly path_separated_prefix: string };
  readonly route: { readonly rate_limits: unknown };
}

interface Bootstrap {
  readonly static_resources: {
    readonly listeners: [
      {
        filter_chains: [
          { filters: [{ typed_config: { http_filters: HttpFilter[]; route_config: { virtual_hosts: [{ routes: Route[] }] } } }] },
        ];
      },
    ];
  };
}

interface Patch {
  readonly applyTo: string;
  readonly match: { readonly context: string; readonly routeConfiguration: { vhost: { route: { name: string } } } };
  readonly patch: { readonly operation: string; readonly value: unknown };
}

export function gatewayConfig(): { httpFilters: HttpFilter[]; routes: Route[] } {
  const [bootstrap] = documentsOf('envoy/envoy.yaml') as [Bootstrap];
  const { http_filters, route_config } = bootstrap.static_resources.listeners[0].filter_chains[0].filters[0].typed_config;
  return { httpFilters: http_filters, routes: route_config.virtual_hosts[0].routes };
}

export function envoyFilter(): { httpFilters: unknown[]; routes: { name: string; rateLimits: unknown }[] } {
  const [filter] = documentsOf('istio/envoyfilter.yaml') as [{ spec: { configPatches: Patch[] } }];
  const patches = (applyTo: string): Patch[] => filter.spec.configPatches.filter((patch) => patch.applyTo === applyTo);
  return {
    httpFilters: patches('HTTP_FILTER').map(({ patch }) => patch.value),
    routes: patches('HTTP_ROUTE').map(({ match, patch }) => ({
      name: match.routeConfiguration.vhost.route.name,
      rateLimits: (patch.value as { route: { rate_limits: unknown } }).route.rate_limits,
    })),
  };
}
