/**
 * The EnvoyFilter for Istio sends the same descriptors as the tested configuration of Envoy.
 *
 * The tested file vouches for the one that needs a mesh.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEPLOY, documentsOf } from './manifests';
import { envoyFilter, gatewayConfig, type HttpFilter } from './envoy-parts';

const JWT_AUTHN = 'envoy.filters.http.jwt_authn';

interface JwtProvider {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly claim_to_headers: readonly { readonly header_name: string; readonly claim_name: string }[];
}

interface JwtRule {
  readonly outputClaimToHeaders: unknown;
}

const filter = envoyFilter();
const gateway = gatewayConfig();

/** What an Envoy of an older Istio does not know, and would refuse the listener for. The comments of the files name them. */
const NEW_IN_ENVOY = [
  { text: 'WITHOUT_PORT(64)%', older: 'WITHOUT_PORT%', comment: /Envoy 1\.38 and later, write `…WITHOUT_PORT\(64\)%`/ },
  { text: '"enable_retry_after_header":true,', older: '', comment: /Envoy 1\.40 and later, add: enable_retry_after_header: true/ },
];

test('the HTTP filters are the same except for the name of the cluster and what an older Envoy does not know', () => {
  const renamed = JSON.stringify(filter.httpFilters).replace('outbound|8081||weir.default.svc.cluster.local', 'weir');
  const wanted = gateway.httpFilters.filter(({ name }) => name !== JWT_AUTHN && name !== 'envoy.filters.http.router');
  const older = NEW_IN_ENVOY.reduce((all, { text, older: instead }) => {
    expect(all).toContain(text);
    return all.replaceAll(text, instead);
  }, JSON.stringify(wanted));
  expect(JSON.parse(renamed)).toEqual(JSON.parse(older));
});

test('the files for Istio have nothing that an older Envoy refuses, and say what a newer one can have', () => {
  const [gatewayFile, sidecarFile] = ['envoyfilter', 'sidecar'].map((name) => readFileSync(join(DEPLOY, 'istio', `${name}.yaml`), 'utf8'));
  const withoutComments = (file: string): string => file.replaceAll(/^\s*#.*$/gm, '');
  for (const [place, file] of [gatewayFile!, sidecarFile!].entries()) {
    expect(withoutComments(file)).not.toMatch(/WITHOUT_PORT\(|enable_retry_after_header/);
    expect(file).toMatch(NEW_IN_ENVOY[1]!.comment);
    if (place === 0) expect(file).toMatch(NEW_IN_ENVOY[0]!.comment);
  }
});

test('the filters remove what callers send before they verify tokens, and set the same headers from the claims', () => {
  const [first] = documentsOf('istio/envoyfilter.yaml') as [
    { spec: { configPatches: [{ patch: { operation: string; value: unknown } }] } },
  ];
  expect(first.spec.configPatches[0].patch).toEqual({ operation: 'INSERT_FIRST', value: gateway.httpFilters[0] });
  const [, , authentication] = documentsOf('istio/envoyfilter.yaml') as [unknown, unknown, { kind: string; spec: { jwtRules: [JwtRule] } }];
  expect(authentication.kind).toBe('RequestAuthentication');
  const jwtAuthn = gateway.httpFilters.find(({ name }) => name === JWT_AUTHN) as { typed_config: { providers: { callers: JwtProvider } } };
  const { issuer, audiences, claim_to_headers: claims } = jwtAuthn.typed_config.providers.callers;
  const [rule] = authentication.spec.jwtRules;
  expect(rule).toMatchObject({ issuer, audiences });
  expect(rule.outputClaimToHeaders).toEqual(claims.map(({ header_name: header, claim_name: claim }) => ({ header, claim })));
});

test('each route has the same rate limits', () => {
  const paths = gateway.routes.map(({ match }) => match.path_separated_prefix);
  expect(paths).toEqual(['/search', '/login', '/payment']);
  expect(filter.routes).toEqual(
    gateway.routes.map(({ match, route }) => ({ name: match.path_separated_prefix.slice(1), rateLimits: route.rate_limits })),
  );
});

test('the sidecars ask as the gateway does, except for their domain', () => {
  const [sidecar] = documentsOf('istio/sidecar.yaml') as [{ spec: { configPatches: { patch: { value: HttpFilter } }[] } }];
  const of = (filters: readonly HttpFilter[]) => filters.find(({ name }) => name === 'envoy.filters.http.ratelimit');
  const ofGateway = of(filter.httpFilters as HttpFilter[]);
  const ofSidecar = of(sidecar.spec.configPatches.map(({ patch }) => patch.value));
  expect(ofSidecar?.typed_config).toEqual({ ...ofGateway?.typed_config, domain: 'mesh' });
});

test("the destination rule applies to the cluster's host, which is the Service and its gRPC port", () => {
  const [, destinationRule] = documentsOf('istio/envoyfilter.yaml') as [unknown, { kind: string; spec: { host: string } }];
  expect(destinationRule).toMatchObject({ kind: 'DestinationRule', spec: { host: 'weir.default.svc.cluster.local' } });
  const services = documentsOf('kubernetes/base/service.yaml') as {
    metadata: { name: string };
    spec: { ports: { name: string; port: number }[] };
  }[];
  expect(services.find(({ metadata }) => metadata.name === 'weir')?.spec.ports).toContainEqual(
    expect.objectContaining({ name: 'grpc', port: 8081 }),
  );
});
