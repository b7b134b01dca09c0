/** What the chart's values.yaml cannot say by its defaults: the schema of single values, by their paths. */

/** @typedef {{ [keyword: string]: unknown }} Schema */

const QUANTITY = { type: ['string', 'integer', 'number'], pattern: '^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$' };
const DURATION = { type: 'string', pattern: '^([0-9]+(ms|s|m|h))+$' };
const PORT = { type: 'integer', minimum: 1, maximum: 65535 };
const REDIS_TYPE = { type: 'string', enum: ['single', 'sentinel', 'cluster'] };
const QUANTITIES = { type: 'object', additionalProperties: QUANTITY };
const TEXTS = { type: 'object', additionalProperties: { type: 'string' } };
const RESOURCES = closed({ requests: QUANTITIES, limits: QUANTITIES, claims: { type: 'array', items: closed({ name: {}, request: {} }) } });
const PEERS = { type: 'array', items: { ...closed({ ipBlock: {}, namespaceSelector: {}, podSelector: {} }), minProperties: 1 } };
const PERCENTAGE_OR_COUNT = {
  oneOf: [
    { type: 'integer', minimum: 0 },
    { type: 'string', pattern: '^[0-9]{1,3}%$' },
  ],
};

/** Of Kubernetes; a list of them in values stands in a list of the pod. */
const ENV_ENTRY = { ...closed({ name: { type: 'string' }, value: { type: 'string' }, valueFrom: { type: 'object' } }), required: ['name'] };
const TOLERATION = closed({ key: {}, operator: {}, value: {}, effect: {}, tolerationSeconds: {} });
const MOUNT = {
  ...closed({ name: {}, mountPath: {}, subPath: {}, subPathExpr: {}, readOnly: {}, mountPropagation: {}, recursiveReadOnly: {} }),
  required: ['name', 'mountPath'],
};
const SPREAD = {
  ...closed({
    topologyKey: { type: 'string' },
    maxSkew: { type: 'integer', minimum: 1 },
    whenUnsatisfiable: { enum: ['ScheduleAnyway', 'DoNotSchedule'] },
    minDomains: { type: 'integer', minimum: 1 },
    matchLabelKeys: { type: 'array', items: { type: 'string' } },
    nodeAffinityPolicy: { enum: ['Honor', 'Ignore'] },
    nodeTaintsPolicy: { enum: ['Honor', 'Ignore'] },
  }),
  required: ['topologyKey', 'maxSkew', 'whenUnsatisfiable'],
};

/** An object of Kubernetes that has a name; its other fields are those of Kubernetes. */
const NAMED = { type: 'object', required: ['name'], properties: { name: { type: 'string', minLength: 1 } } };
const SECOND = { type: 'integer', minimum: 1 };
const PROBE = {
  ...closed({
    ...Object.fromEntries(['httpGet', 'tcpSocket', 'grpc', 'exec'].map((handler) => [handler, { type: 'object' }])),
    initialDelaySeconds: { type: 'integer', minimum: 0 },
    periodSeconds: SECOND,
    timeoutSeconds: SECOND,
    successThreshold: SECOND,
    failureThreshold: SECOND,
    terminationGracePeriodSeconds: SECOND,
  }),
  type: ['object', 'null'],
};
const POD_SECURITY = closed({
  // The profile `restricted` demands both.
  runAsNonRoot: { const: true },
  seccompProfile: closed({ type: { enum: ['RuntimeDefault', 'Localhost'] }, localhostProfile: { type: 'string' } }),
  runAsUser: { type: ['integer', 'null'], minimum: 1 },
  runAsGroup: { type: ['integer', 'null'], minimum: 0 },
  fsGroup: { type: 'integer' },
  fsGroupChangePolicy: { type: 'string' },
  supplementalGroups: { type: 'array', items: { type: 'integer' } },
  seLinuxOptions: { type: 'object' },
  appArmorProfile: { type: 'object' },
});
const PUBLISHED = { enum: ['auto', true, false] };
/** `-headless` and the other endings fit behind it into the 63 characters of a label. */
const NAME = { type: 'string', maxLength: 50, pattern: '^([a-z]([-a-z0-9]*[a-z0-9])?)?$' };
const NAMESPACE = { type: 'string', maxLength: 63, pattern: '^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$' };
const OBJECTS = { type: 'array', items: { type: 'object' } };
const NAMES = { type: 'array', items: { type: 'string', minLength: 1 } };
const EMPTY_OR_DURATION = { type: 'string', pattern: '^([0-9]+(ms|s|m|h))*$' };

/** @type {Readonly<Record<string, Schema>>} */
export const CONSTRAINTS = {
  fullnameOverride: NAME,
  nameOverride: NAME,
  namespaceOverride: NAMESPACE,
  // Open: charts around this one have entries of their own.
  global: {
    type: 'object',
    properties: {
      imageRegistry: { type: ['string', 'null'] },
      imagePullSecrets: { type: ['array', 'null'], items: { oneOf: [{ type: 'string' }, NAMED] } },
    },
  },
  commonLabels: TEXTS,
  commonAnnotations: TEXTS,
  'workload.selectorLabels': TEXTS,
  replicas: { type: ['integer', 'null'], minimum: 0, maximum: 1000 },
  strategy: closed({
    type: { enum: ['RollingUpdate', 'Recreate'] },
    rollingUpdate: { ...closed({ maxUnavailable: PERCENTAGE_OR_COUNT, maxSurge: PERCENTAGE_OR_COUNT }), type: ['object', 'null'] },
  }),
  minReadySeconds: { type: 'integer', minimum: 0, maximum: 600 },
  workers: { type: 'integer', minimum: 1, maximum: 256 },
  'image.repository': { type: 'string', minLength: 1 },
  'image.digest': { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
  'image.pullPolicy': { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] },
  imagePullSecrets: { type: 'array', items: { ...closed({ name: { type: 'string' } }), required: ['name'] } },
  'config.source': { type: 'string', enum: ['files', 'xds'] },
  'config.files': { type: 'object', patternProperties: { '^[^/]+\\.ya?ml$': { type: 'string' } }, additionalProperties: false },
  'config.configMaps': {
    type: 'array',
    items: { ...closed({ name: { type: 'string', minLength: 1 }, optional: { type: 'boolean' } }), required: ['name'] },
  },
  'config.volume': { type: 'object', not: { required: ['name'] }, maxProperties: 1 },
  'config.check.timeoutSeconds': { type: 'integer', minimum: 10, maximum: 3600 },
  'redis.type': REDIS_TYPE,
  'redis.perSecond.type': REDIS_TYPE,
  'redis.demo.maxMemory': { type: 'string', pattern: '^[0-9]+(kb|mb|gb)$' },
  'redis.demo.podSecurityContext': POD_SECURITY,
  'redis.demo.resources': RESOURCES,
  failureMode: { type: 'string', enum: ['local', 'open', 'closed', 'unavailable'] },
  extraEnv: { type: 'array', items: ENV_ENTRY },
  extraEnvFrom: {
    type: 'array',
    items: closed({ prefix: { type: 'string' }, configMapRef: NAMED, secretRef: NAMED }),
  },
  'admin.port': { ...PORT, minimum: 1024 },
  'admin.service.annotations': TEXTS,
  'admin.ingress.annotations': TEXTS,
  'admin.ingress.hosts': NAMES,
  'admin.ingress.path': { type: 'string', pattern: '^/' },
  'admin.ingress.pathType': { enum: ['Prefix', 'Exact', 'ImplementationSpecific'] },
  'admin.ingress.tls': { type: 'array', items: closed({ secretName: { type: 'string' }, hosts: NAMES }) },
  'admin.httpRoute.annotations': TEXTS,
  'admin.httpRoute.parentRefs': { type: 'array', items: NAMED },
  'admin.httpRoute.hostnames': NAMES,
  'admin.httpRoute.filters': OBJECTS,
  'service.type': { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
  'service.clusterIP': { type: 'string', pattern: '^(None|[0-9a-f.:]*)$' },
  'service.annotations': TEXTS,
  'service.trafficDistribution': { type: 'string', enum: ['', 'PreferClose', 'PreferSameZone', 'PreferSameNode'] },
  'service.loadBalancerSourceRanges': NAMES,
  'service.externalTrafficPolicy': { enum: ['', 'Cluster', 'Local'] },
  'service.ipFamilyPolicy': { enum: ['', 'SingleStack', 'PreferDualStack', 'RequireDualStack'] },
  'service.ipFamilies': { type: 'array', items: { enum: ['IPv4', 'IPv6'] }, maxItems: 2, uniqueItems: true },
  'service.ports.http': PUBLISHED,
  'service.ports.debug': PUBLISHED,
  'headlessService.annotations': TEXTS,
  resources: RESOURCES,
  'drain.delay': DURATION,
  'drain.timeout': DURATION,
  terminationGracePeriodSeconds: { type: 'integer', minimum: 1, maximum: 3600 },
  readinessProbe: PROBE,
  livenessProbe: PROBE,
  startupProbe: PROBE,
  'podDisruptionBudget.maxUnavailable': PERCENTAGE_OR_COUNT,
  'podDisruptionBudget.minAvailable': { oneOf: [...PERCENTAGE_OR_COUNT.oneOf, { const: '' }] },
  'podDisruptionBudget.unhealthyPodEvictionPolicy': { enum: ['', 'IfHealthyBudget', 'AlwaysAllow'] },
  'autoscaling.minReplicas': { type: 'integer', minimum: 1, maximum: 1000 },
  'autoscaling.maxReplicas': { type: 'integer', minimum: 1, maximum: 1000 },
  'autoscaling.metrics': {
    type: 'array',
    items: { ...closed({ type: {}, resource: {}, containerResource: {}, pods: {}, object: {}, external: {} }), required: ['type'] },
  },
  'autoscaling.behavior': closed({ scaleUp: { type: 'object' }, scaleDown: { type: 'object' } }),
  topologySpread: { type: 'array', items: SPREAD },
  nodeSelector: TEXTS,
  tolerations: { type: 'array', items: TOLERATION },
  affinity: closed({ nodeAffinity: { type: 'object' }, podAffinity: { type: 'object' }, podAntiAffinity: { type: 'object' } }),
  podAnnotations: TEXTS,
  podLabels: TEXTS,
  dnsPolicy: { enum: ['', 'Default', 'ClusterFirst', 'ClusterFirstWithHostNet', 'None'] },
  dnsConfig: closed({ nameservers: NAMES, searches: NAMES, options: OBJECTS }),
  hostAliases: { type: 'array', items: { ...closed({ ip: { type: 'string' }, hostnames: NAMES }), required: ['ip', 'hostnames'] } },
  deploymentAnnotations: TEXTS,
  podSecurityContext: POD_SECURITY,
  containerSecurityContext: closed({
    // What `restricted` demands cannot be given up.
    allowPrivilegeEscalation: { const: false },
    privileged: { const: false },
    capabilities: closed({
      drop: { type: 'array', contains: { const: 'ALL' } },
      add: { type: 'array', items: { const: 'NET_BIND_SERVICE' } },
    }),
    readOnlyRootFilesystem: { type: 'boolean' },
    runAsNonRoot: { const: true },
    runAsUser: { type: 'integer', minimum: 1 },
    runAsGroup: { type: 'integer', minimum: 0 },
    seccompProfile: { type: 'object' },
    seLinuxOptions: { type: 'object' },
    appArmorProfile: { type: 'object' },
  }),
  'serviceAccount.annotations': TEXTS,
  initContainers: { type: 'array', items: NAMED },
  extraContainers: { type: 'array', items: NAMED },
  extraObjects: { type: 'array', items: { type: ['object', 'string'] } },
  extraVolumes: { type: 'array', items: NAMED },
  extraVolumeMounts: { type: 'array', items: MOUNT },
  'networkPolicy.gateways': PEERS,
  'networkPolicy.http': PEERS,
  'networkPolicy.prometheus': PEERS,
  'networkPolicy.admin': PEERS,
  'networkPolicy.ingress.extra': { type: 'array', items: closed({ from: PEERS, ports: { type: 'array' } }) },
  'networkPolicy.egress.redis': PEERS,
  'networkPolicy.egress.redisPorts': { type: 'array', items: PORT },
  'networkPolicy.egress.extra': { type: 'array', items: closed({ to: PEERS, ports: { type: 'array' } }) },
  'monitoring.podMonitor.labels': TEXTS,
  'monitoring.podMonitor.namespace': NAMESPACE,
  'monitoring.podMonitor.interval': DURATION,
  'monitoring.podMonitor.scrapeTimeout': EMPTY_OR_DURATION,
  'monitoring.podMonitor.relabelings': OBJECTS,
  'monitoring.podMonitor.metricRelabelings': OBJECTS,
  'monitoring.serviceMonitor.labels': TEXTS,
  'monitoring.serviceMonitor.namespace': NAMESPACE,
  'monitoring.serviceMonitor.interval': DURATION,
  'monitoring.serviceMonitor.scrapeTimeout': EMPTY_OR_DURATION,
  'monitoring.serviceMonitor.relabelings': OBJECTS,
  'monitoring.serviceMonitor.metricRelabelings': OBJECTS,
  'monitoring.rules.labels': TEXTS,
  'monitoring.rules.namespace': NAMESPACE,
  'monitoring.rules.disabled': NAMES,
  'monitoring.rules.extra': OBJECTS,
  'monitoring.dashboards.labels': TEXTS,
  'monitoring.dashboards.annotations': TEXTS,
  'monitoring.dashboards.namespace': NAMESPACE,
  'test.podLabels': TEXTS,
  'test.podAnnotations': TEXTS,
  'test.sidecarQuitUrl': { type: 'string', pattern: '^(https?://.+)?$' },
};

/**
 * An object without other fields.
 *
 * @param {Record<string, Schema>} properties
 */
export function closed(properties) {
  return { type: 'object', properties, additionalProperties: false };
}
