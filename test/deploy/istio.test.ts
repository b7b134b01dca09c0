/** The EnvoyFilter asks Weir as deploy/envoy/envoy.yaml does: the tested file vouches for the one that needs a mesh. */
import { documentsOf } from './manifests';
import { envoyFilter, gatewayConfig } from './envoy-parts';

const filter = envoyFilter();
const gateway = gatewayConfig();

test('the HTTP filters are the same, but for the name of the cluster', () => {
  const renamed = JSON.stringify(filter.httpFilters).replace('outbound|8081||weir.default.svc.cluster.local', 'weir');
  expect(JSON.parse(renamed)).toEqual(gateway.httpFilters.slice(0, -1));
});

test('each route has the same rate limits', () => {
  const paths = gateway.routes.map(({ match }) => match.path_separated_prefix);
  expect(paths).toEqual(['/search', '/login', '/payment']);
  expect(filter.routes).toEqual(gateway.routes.map(({ match, route }) => ({ name: match.path_separated_prefix.slice(1), rateLimits: route.rate_limits })));
});

test('the destination rule is for the host of the cluster, which is the Service and its gRPC port', () => {
  const [, destinationRule] = documentsOf('istio/envoyfilter.yaml') as [unknown, { kind: string; spec: { host: string } }];
  expect(destinationRule).toMatchObject({ kind: 'DestinationRule', spec: { host: 'weir.default.svc.cluster.local' } });
  const services = documentsOf('kubernetes/service.yaml') as { metadata: { name: string }; spec: { ports: { name: string; port: number }[] } }[];
  expect(services.find(({ metadata }) => metadata.name === 'weir')?.spec.ports).toContainEqual(expect.objectContaining({ name: 'grpc', port: 8081 }));
});
