/** Wrong values of the chart: each stops Helm, with a message that names the value. */
import { mergeValues } from '../support/kubernetes/features';
import { template, type Values } from '../support/kubernetes/helm';

/** Values that install. */
const GOOD: Values = { config: { files: { 'limits.yaml': 'domain: shop\n' } }, redis: { url: 'redis:6379' } };

interface Wrong {
  readonly values: Values;
  readonly message: string;
  readonly kubernetes?: string;
}

/** Keys and types that values.schema.json refuses. */
const REFUSED_BY_SCHEMA: readonly Wrong[] = [
  { values: { replicsa: 3 }, message: "additional properties 'replicsa' not allowed" },
  { values: { redis: { ...redis(), pasword: 'x' } }, message: "additional properties 'pasword' not allowed" },
  { values: { settings: { REDIS_OP_TIMOUT: '10ms' } }, message: "additional properties 'REDIS_OP_TIMOUT' not allowed" },
  { values: { settings: { REDIS_AUTH: 'secret' } }, message: "additional properties 'REDIS_AUTH' not allowed" },
  { values: { settings: { REDIS_URL: 'other:6379' } }, message: "additional properties 'REDIS_URL' not allowed" },
  { values: { settings: { GRPC_PORT: 9000 } }, message: "additional properties 'GRPC_PORT' not allowed" },
  { values: { replicas: '2' }, message: "at '/replicas'" },
  { values: { redis: { ...redis(), type: 'sentinels' } }, message: "at '/redis/type'" },
  { values: { failureMode: 'allow' }, message: "at '/failureMode'" },
  { values: { image: { digest: 'sha256:12' } }, message: "at '/image/digest'" },
  { values: { drain: { delay: '10 seconds' } }, message: "at '/drain/delay'" },
  { values: { config: { files: { 'limits.json': '{}' } } }, message: "additional properties 'limits.json' not allowed" },
  { values: { resources: { request: {} } }, message: "additional properties 'request' not allowed" },
  { values: { podSecurityContext: { runAsNonRoot: false } }, message: "at '/podSecurityContext/runAsNonRoot'" },
  { values: { podSecurityContext: { privileged: true } }, message: "additional properties 'privileged' not allowed" },
  {
    values: { networkPolicy: { gateways: [{ namespaceselector: {} }] } },
    message: "additional properties 'namespaceselector' not allowed",
  },
  { values: { networkPolicy: { gateways: [{}] } }, message: "at '/networkPolicy/gateways/0'" },
  { values: { topologySpread: [{ topologyKey: 'zone' }] }, message: "at '/topologySpread/0'" },
  { values: { admin: { port: 80 } }, message: "at '/admin/port'" },
  { values: { podDisruptionBudget: { maxUnavailable: '1' } }, message: "at '/podDisruptionBudget/maxUnavailable'" },
];

/** Values that fit the schema but not each other. */
const REFUSED_BY_CHECKS: readonly Wrong[] = [
  { values: { config: { files: null } }, message: 'config.files: is empty' },
  { values: { config: { example: true } }, message: 'config.files: only one of' },
  { values: { config: { source: 'xds' } }, message: 'config.xds.server: is ""' },
  { values: { config: { source: 'xds', xds: { server: 'control:18000' } } }, message: 'config.source: is xds, so config.files' },
  {
    values: { config: { source: 'xds', files: null, xds: { server: 'control:18000', tls: { enabled: true, clientCertificate: true } } } },
    message: 'config.xds.tls.existingSecret: is empty',
  },
  { values: { redis: { url: '' } }, message: 'redis.url: is empty' },
  { values: { redis: { url: 'redis://weir:secret@redis:6379' } }, message: 'redis.url: has a password' },
  { values: { redis: { ...redis(), urlSecret: { name: 'redis' } } }, message: 'redis.urlSecret.name: redis.url is set' },
  { values: { redis: { ...redis(), demo: { enabled: true } } }, message: 'redis.demo.enabled: is true' },
  { values: { redis: { ...redis(), tls: { enabled: true, clientCertificate: true } } }, message: 'redis.tls.existingSecret: is empty' },
  { values: { redis: { ...redis(), sentinelAuth: { existingSecret: 's' } } }, message: 'redis.sentinelAuth.existingSecret: is set' },
  { values: { redis: { ...redis(), perSecond: { enabled: true } } }, message: 'redis.perSecond.url: is empty' },
  {
    values: { redis: { ...redis(), perSecond: { enabled: true, url: 'redis://:x@r:1' } } },
    message: 'redis.perSecond.url: has a password',
  },
  { values: { tls: { enabled: true } }, message: 'tls.existingSecret: is empty' },
  { values: { tls: { clients: { verify: true } } }, message: 'tls.clients.verify: is true, but tls.enabled is false' },
  { values: { tls: { enabled: true, existingSecret: 's', clients: { san: 'envoy' } } }, message: 'tls.clients.san: is set' },
  { values: { tls: { enabled: true, existingSecret: 's', clients: { verify: true } } }, message: 'tls.clients.testSecret: is empty' },
  { values: { admin: { enabled: true } }, message: 'admin.tokens.existingSecret: is empty' },
  { values: { admin: { enabled: true, jwt: { existingSecret: 's' } } }, message: 'admin.jwt.issuer: admin.jwt.existingSecret needs' },
  {
    values: { admin: { enabled: true, tokens: { existingSecret: 's' }, tls: { verifyClients: true } } },
    message: 'admin.tls.existingSecret: is empty',
  },
  { values: { admin: { enabled: true, tokens: { existingSecret: 's' }, port: 8081 } }, message: 'admin.port: is 8081' },
  { values: { drain: { delay: '20s' } }, message: 'terminationGracePeriodSeconds: is 30, but drain.delay and drain.timeout take 30000 ms' },
  { values: { drain: { delay: '1m30s' } }, message: 'drain.timeout take 100000 ms' },
  { values: { autoscaling: { enabled: true, minReplicas: 20 } }, message: 'autoscaling.minReplicas: is 20' },
  { values: { autoscaling: { enabled: true, cpuMillicoresPerWorker: 0 } }, message: 'autoscaling.metrics: is empty' },
  { values: { extraEnv: [{ name: 'DEFAULT_ALGORITHM', value: 'fixed_window' }] }, message: 'extraEnv: has DEFAULT_ALGORITHM' },
  { values: { extraEnv: [{ name: 'GRPC_PORT', value: '9000' }] }, message: 'extraEnv: has GRPC_PORT, which another value sets' },
  { values: { networkPolicy: { enabled: true } }, message: 'networkPolicy.gateways: is empty' },
  {
    values: { networkPolicy: { enabled: true, gateways: [{ podSelector: {} }] }, redis: { url: null, urlSecret: { name: 's' } } },
    message: 'networkPolicy.egress.redisPorts: is empty',
  },
  {
    values: { monitoring: { podMonitor: { enabled: true }, serviceMonitor: { enabled: true } } },
    message: 'monitoring.serviceMonitor.enabled: monitoring.podMonitor.enabled is true',
  },
  {
    values: { monitoring: { serviceMonitor: { enabled: true } }, service: { ports: { debug: false } } },
    message: 'monitoring.serviceMonitor.enabled: the Service has no port',
  },
  { values: { workload: { enabled: false } }, message: 'workload.selectorLabels: is empty' },
  {
    values: { service: { trafficDistribution: 'PreferClose' } },
    kubernetes: 'v1.29.0',
    message: 'service.trafficDistribution: needs Kubernetes 1.31',
  },
  { values: {}, kubernetes: 'v1.24.0', message: 'chart requires kubeVersion: >=1.25.0-0' },
];

function redis(): Values {
  return { url: 'redis:6379' };
}

test('the values that all wrong ones are put into install', async () => {
  expect(await template({ values: GOOD })).toMatchObject({ exitCode: 0 });
});

test.each([...REFUSED_BY_SCHEMA, ...REFUSED_BY_CHECKS])('wrong values stop Helm: $message', async ({ values, message, kubernetes }) => {
  const { exitCode, stderr } = await template({ values: mergeValues(GOOD, values), ...(kubernetes !== undefined && { kubernetes }) });
  expect(stderr).toContain(message);
  expect(exitCode).toBe(1);
});
