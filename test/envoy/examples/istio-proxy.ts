/** The EnvoyFilters of deploy/istio in the configurations that Istio would patch: an ingress gateway, and the inbound side of a sidecar. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { Certificates } from '../../support/servers/certificates';
import { isObject, type Json, type JsonObject } from './rewritten';

const ISTIO = resolve(__dirname, '..', '..', '..', 'deploy', 'istio');
const ROUTER = 'envoy.filters.http.router';

interface Patch {
  readonly applyTo: string;
  readonly match: {
    readonly listener?: { readonly filterChain: { readonly filter: { readonly subFilter?: { readonly name: string } } } };
    readonly routeConfiguration?: { readonly vhost: { readonly name?: string; readonly route?: { readonly name: string } } };
  };
  readonly patch: { readonly operation: string; readonly value: JsonObject };
}

interface Named {
  readonly name?: string;
}

/** What the patches change: the filters and virtual hosts of one listener. */
interface Proxy {
  readonly filters: readonly (JsonObject & Named)[];
  readonly virtualHosts: readonly (JsonObject & Named & { readonly routes: readonly (JsonObject & Named)[] })[];
}

function documentsOf(file: string): readonly JsonObject[] {
  return (parseAllDocuments(readFileSync(resolve(ISTIO, file), 'utf8')) as { toJS: () => JsonObject }[]).map((each) => each.toJS());
}

function specOf(file: string, kind: string): unknown {
  const found = documentsOf(file).find((each) => each.kind === kind);
  if (found === undefined) throw new Error(`deploy/istio/${file} has no ${kind}`);
  return found.spec;
}

/** The limits in the ConfigMap of sidecar.yaml. */
export function meshLimits(): string {
  const { data } = documentsOf('sidecar.yaml').find(({ kind }) => kind === 'ConfigMap') as unknown as { data: { 'mesh.yaml': string } };
  return data['mesh.yaml'];
}

/** As Istio does: one patch after the other. */
function patched(proxy: Proxy, file: string): Proxy {
  const { configPatches } = specOf(file, 'EnvoyFilter') as { configPatches: readonly Patch[] };
  return configPatches.reduce(apply, proxy);
}

function apply({ filters, virtualHosts }: Proxy, { applyTo, match, patch: { operation, value } }: Patch): Proxy {
  const at = filters.findIndex(({ name }) => name === match.listener?.filterChain.filter.subFilter?.name);
  switch (`${applyTo} ${operation}`) {
    case 'HTTP_FILTER INSERT_FIRST':
      return { filters: [value, ...filters], virtualHosts };
    case 'HTTP_FILTER INSERT_BEFORE':
      if (at < 0) throw new Error(`there is no filter to insert ${JSON.stringify(value.name)} before`);
      return { filters: [...filters.slice(0, at), value, ...filters.slice(at)], virtualHosts };
    case 'VIRTUAL_HOST MERGE':
      return { filters, virtualHosts: mergedByName(virtualHosts, { name: match.routeConfiguration?.vhost.name, value }) };
    case 'HTTP_ROUTE MERGE': {
      const name = match.routeConfiguration?.vhost.route?.name;
      return { filters, virtualHosts: virtualHosts.map((host) => ({ ...host, routes: mergedByName(host.routes, { name, value }) })) };
    }
    default:
      throw new Error(`this test does not apply ${applyTo} ${operation}`);
  }
}

function mergedByName<T extends JsonObject & Named>(
  all: readonly T[],
  { name, value }: { name: string | undefined; value: JsonObject },
): T[] {
  if (!all.some((each) => each.name === name)) throw new Error(`nothing is named ${String(name)}`);
  return all.map((each) => (each.name === name ? (merge(each, value) as T) : each));
}

function merge(into: JsonObject, value: JsonObject): JsonObject {
  const entries = Object.entries(value).map(([key, each]): [string, Json] => {
    const known = into[key];
    return [key, known !== undefined && isObject(known) && isObject(each) ? merge(known, each) : each];
  });
  return { ...into, ...Object.fromEntries(entries) };
}

function clusterTo(name: string, address: JsonObject): JsonObject {
  return {
    name,
    type: 'STRICT_DNS',
    connect_timeout: '1s',
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: address } } }] }] },
  };
}

function bootstrapOf({ filters, virtualHosts }: Proxy, { manager, chain }: { manager: JsonObject; chain: JsonObject }): string {
  const type = 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager';
  const connectionManager = {
    name: 'envoy.filters.network.http_connection_manager',
    typed_config: {
      '@type': type,
      stat_prefix: 'istio',
      ...manager,
      // Istio's default, PathNormalization BASE: no slashes are merged.
      normalize_path: true,
      http_filters: filters,
      route_config: { name: 'istio', virtual_hosts: virtualHosts },
    },
  };
  const protocol = 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions';
  const weir = {
    ...clusterTo('outbound|8081||weir.default.svc.cluster.local', { address: 'weir', port_value: 8081 }),
    typed_extension_protocol_options: {
      [protocol]: { '@type': `type.googleapis.com/${protocol}`, explicit_http_config: { http2_protocol_options: {} } },
    },
  };
  return JSON.stringify({
    static_resources: {
      listeners: [{ name: 'istio', filter_chains: [{ ...chain, filters: [connectionManager] }] }],
      clusters: [clusterTo('backend', { address: 'backend', port_value: 8080 }), weir],
    },
  });
}

function router(): JsonObject {
  return { name: ROUTER, typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' } };
}

/** An ingress gateway with envoyfilter.yaml: its filter of tokens is what Istio makes of the RequestAuthentication. */
export function istioGateway(jwks: string): string {
  const { jwtRules } = specOf('envoyfilter.yaml', 'RequestAuthentication') as { jwtRules: readonly [JwtRule] };
  const [rule] = jwtRules;
  const jwtAuthn = {
    name: 'envoy.filters.http.jwt_authn',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication',
      providers: {
        'origins-0': {
          issuer: rule.issuer,
          audiences: rule.audiences,
          from_headers: rule.fromHeaders.map(({ name, prefix }) => ({ name, value_prefix: prefix })),
          claim_to_headers: rule.outputClaimToHeaders.map(({ header, claim }) => ({ header_name: header, claim_name: claim })),
          payload_in_metadata: 'payload',
          local_jwks: { inline_string: jwks },
        },
      },
      rules: [
        {
          match: { prefix: '/' },
          requires: { requires_any: { requirements: [{ provider_name: 'origins-0' }, { allow_missing: {} }] } },
        },
      ],
    },
  };
  const routes = ['search', 'login', 'payment'].map((name) => ({
    name,
    match: { prefix: `/${name}` },
    route: { cluster: 'backend' },
  }));
  const proxy = { filters: [jwtAuthn, router()], virtualHosts: [{ name: 'shop.example.com:80', domains: ['*'], routes }] };
  return bootstrapOf(patched(proxy, 'envoyfilter.yaml'), { manager: { use_remote_address: true }, chain: {} });
}

interface JwtRule {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly fromHeaders: readonly { readonly name: string; readonly prefix: string }[];
  readonly outputClaimToHeaders: readonly { readonly header: string; readonly claim: string }[];
}

/** The inbound side of a sidecar with sidecar.yaml, where callers may lack a certificate (PERMISSIVE). */
export function istioSidecar({ ca, server }: Certificates): string {
  const hosts = [
    { name: 'inbound|http|8080', domains: ['*'], routes: [{ name: 'default', match: { prefix: '/' }, route: { cluster: 'backend' } }] },
  ];
  const proxy = patched({ filters: [router()], virtualHosts: hosts }, 'sidecar.yaml');
  const tls = {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
      common_tls_context: {
        tls_certificates: [{ certificate_chain: { filename: server.cert }, private_key: { filename: server.key } }],
        validation_context: { trusted_ca: { filename: ca.cert } },
      },
    },
  };
  return bootstrapOf(proxy, {
    manager: { use_remote_address: false, forward_client_cert_details: 'APPEND_FORWARD' },
    chain: { transport_socket: tls },
  });
}
