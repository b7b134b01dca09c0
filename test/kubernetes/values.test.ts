/** A wrong value of the chart stops Helm with the name of the value and what is allowed. */
import { figure } from '../support/docs/figure';
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
  { values: { podDisruptionBudget: { minAvailable: 'two' } }, message: "at '/podDisruptionBudget/minAvailable'" },
  { values: { settings: { TOP_KEYS_CAPACITY: 5 } }, message: "at '/settings/TOP_KEYS_CAPACITY': minimum: got 5, want 64" },
  { values: { settings: { TOP_KEYS_CAPACITY: 'many' } }, message: "at '/settings/TOP_KEYS_CAPACITY'" },
  { values: { settings: { TOP_KEYS: 'yes' } }, message: "at '/settings/TOP_KEYS': value must be one of true, false" },
  { values: { settings: { REDIS_OP_TIMEOUT: true } }, message: "at '/settings/REDIS_OP_TIMEOUT': got boolean" },
  { values: { fullnameOverride: 'w'.repeat(51) }, message: "at '/fullnameOverride': maxLength: got 51, want 50" },
  { values: { fullnameOverride: 'Weir' }, message: "at '/fullnameOverride'" },
  {
    values: { containerSecurityContext: { allowPrivilegeEscalation: true } },
    message: "at '/containerSecurityContext/allowPrivilegeEscalation'",
  },
  {
    values: { containerSecurityContext: { capabilities: { drop: ['NET_RAW'] } } },
    message: "at '/containerSecurityContext/capabilities/drop'",
  },
  { values: { readinessProbe: { periodSecond: 3 } }, message: "additional properties 'periodSecond' not allowed" },
  { values: { extraContainers: [{ image: 'x' }] }, message: "missing property 'name'" },
  { values: { service: { ports: { http: 'no' } } }, message: "at '/service/ports/http'" },
  { values: { config: { files: null, volume: { name: 'x', emptyDir: {} } } }, message: "at '/config/volume'" },
  { values: { networkPolicy: { http: [{}] } }, message: "at '/networkPolicy/http/0'" },
];

/** Values that fit the schema but not each other. */
const REFUSED_BY_CHECKS: readonly Wrong[] = [
  { values: { settings: { REDIS_OP_TIMEOUT: 10 } }, message: 'settings.REDIS_OP_TIMEOUT: is 10; use a duration from 1ms to 1s' },
  { values: { settings: { REDIS_OP_TIMEOUT: '2s' } }, message: 'settings.REDIS_OP_TIMEOUT: is 2s; use a duration from 1ms to 1s' },
  { values: { settings: { REDIS_OP_TIMEOUT: '5msec' } }, message: 'settings.REDIS_OP_TIMEOUT: is 5msec; use' },
  { values: { settings: { LOG_LEVEL: 'verbose' } }, message: 'settings.LOG_LEVEL: is verbose; use trace, debug, info, warn' },
  {
    values: { settings: { RESPONSE_HEADERS: false } },
    message: 'settings.RESPONSE_HEADERS: is false; use off, reference, ietf (in quotes',
  },
  {
    values: { settings: { TOP_KEYS_CAPACITY: '5000' } },
    message: 'settings.TOP_KEYS_CAPACITY: is 5000; use a whole number from 64 to 4096',
  },
  { values: { replicaCount: 3 }, message: 'replicaCount: is not a value of this chart; use replicas' },
  { values: { ingress: { enabled: true } }, message: 'ingress: is not a value of this chart; use admin.ingress' },
  {
    values: { image: { tag: '0.2.0', digest: `sha256:${'a'.repeat(64)}` } },
    message: 'image.tag: is 0.2.0, but image.digest decides alone',
  },
  { values: { commonLabels: { 'app.kubernetes.io/name': 'x' } }, message: 'commonLabels: has app.kubernetes.io/name' },
  { values: { podLabels: { 'app.kubernetes.io/instance': 'x' } }, message: 'podLabels: has app.kubernetes.io/instance' },
  { values: { config: { volume: { emptyDir: {} } } }, message: 'config.files: only one of' },
  {
    values: { config: { files: null, volume: { emptyDir: {} }, configMaps: [{ name: 'a' }] } },
    message: 'config.configMaps: config.volume is set',
  },
  { values: { redis: { url: 'redis' } }, message: 'redis.url: has "redis", which has no port' },
  { values: { redis: { type: 'cluster', url: 'r0:6379,r1' } }, message: 'redis.url: has "r1", which has no port' },
  { values: { redis: { type: 'sentinel', url: 'primary,s0' } }, message: 'redis.url: has "s0", which has no port' },
  { values: { redis: { ...redis(), perSecond: { enabled: true, url: '[::1]' } } }, message: 'redis.perSecond.url: has "[::1]"' },
  {
    values: { service: { loadBalancerSourceRanges: ['10.0.0.0/8'] } },
    message: 'service.loadBalancerSourceRanges: is set, but service.type is ClusterIP',
  },
  { values: { service: { externalTrafficPolicy: 'Local' } }, message: 'service.externalTrafficPolicy: is set' },
  {
    values: { service: { type: 'LoadBalancer', clusterIP: 'None' } },
    message: 'service.clusterIP: is None, but service.type is LoadBalancer',
  },
  {
    values: { service: { type: 'LoadBalancer' }, monitoring: { serviceMonitor: { enabled: true } } },
    message: 'monitoring.serviceMonitor.enabled: the Service has no port',
  },
  { values: { admin: { ingress: { enabled: true } } }, message: 'admin.enabled: is false, but admin.ingress' },
  { values: { admin: { ...admin(), ingress: { enabled: true } } }, message: 'admin.ingress.hosts: is empty' },
  { values: { admin: { ...admin(), httpRoute: { enabled: true } } }, message: 'admin.httpRoute.parentRefs: is empty' },
  {
    values: {
      admin: { ...admin(), ingress: { enabled: true, hosts: ['a'] } },
      networkPolicy: { enabled: true, gateways: [{ podSelector: {} }] },
    },
    message: 'networkPolicy.admin: is empty',
  },
  {
    values: { http: { json: true }, networkPolicy: { enabled: true, gateways: [{ podSelector: {} }] } },
    message: 'networkPolicy.http: is empty, so nobody would reach port 8080, which http.json serves',
  },
  {
    values: { settings: { CHECK_DOMAIN: 'shop' }, networkPolicy: { enabled: true, gateways: [{ podSelector: {} }] } },
    message: 'which settings.CHECK_DOMAIN serves',
  },
  {
    values: {
      workload: { enabled: false, selectorLabels: { a: 'b' } },
      redis: { url: null },
      networkPolicy: { enabled: true, gateways: [{ podSelector: {} }] },
    },
    message: 'networkPolicy.egress.redisPorts: is empty',
  },
  { values: { strategy: { rollingUpdate: { maxSurge: 0 } } }, message: 'strategy.rollingUpdate: maxUnavailable and maxSurge are both 0' },
  {
    values: { topologySpread: [{ topologyKey: 'zone', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway', minDomains: 2 }] },
    message: 'topologySpread: minDomains of zone needs',
  },
  { values: { extraContainers: [{ name: 'weir' }] }, message: 'extraContainers: the pod has two containers with the name weir' },
  { values: { extraVolumes: [{ name: 'config', emptyDir: {} }] }, message: 'extraVolumes: the pod has two volumes with the name config' },
  { values: { monitoring: { rules: { disabled: ['WeirNone'] } } }, message: 'monitoring.rules.disabled: there is no alert WeirNone' },
  {
    values: { podDisruptionBudget: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
    kubernetes: 'v1.25.0',
    message: 'podDisruptionBudget.unhealthyPodEvictionPolicy: needs Kubernetes 1.27',
  },
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

function admin(): Values {
  return { enabled: true, tokens: { existingSecret: 's' } };
}

function redis(): Values {
  return { url: 'redis:6379' };
}

test('the values that all wrong ones are put into install', async () => {
  expect(await template({ values: GOOD })).toMatchObject({ exitCode: 0 });
});

/** A process each: together they wait less. */
const AT_ONCE = 4;

test('wrong values stop Helm, with a message that names the value and says what to do', async () => {
  const wrong = [...REFUSED_BY_SCHEMA, ...REFUSED_BY_CHECKS];
  for (let place = 0; place < wrong.length; place += AT_ONCE) {
    const tried = wrong.slice(place, place + AT_ONCE).map(async ({ values, message, kubernetes }) => {
      const { exitCode, stderr } = await template({ values: mergeValues(GOOD, values), ...(kubernetes !== undefined && { kubernetes }) });
      return { values, exitCode, says: stderr.includes(message) ? message : stderr };
    });
    const expected = wrong.slice(place, place + AT_ONCE).map(({ values, message }) => ({ values, exitCode: 1, says: message }));
    expect(await Promise.all(tried)).toEqual(expected);
  }
  figure(`${wrong.length} sets of values`);
});
