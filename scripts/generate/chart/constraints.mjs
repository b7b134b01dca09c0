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
  }),
  required: ['topologyKey', 'maxSkew', 'whenUnsatisfiable'],
};

/** @type {Readonly<Record<string, Schema>>} */
export const CONSTRAINTS = {
  commonLabels: TEXTS,
  'workload.selectorLabels': TEXTS,
  replicas: { type: 'integer', minimum: 0, maximum: 1000 },
  workers: { type: 'integer', minimum: 1, maximum: 256 },
  'image.repository': { type: 'string', minLength: 1 },
  'image.digest': { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' },
  'image.pullPolicy': { type: 'string', enum: ['Always', 'IfNotPresent', 'Never'] },
  imagePullSecrets: { type: 'array', items: { ...closed({ name: { type: 'string' } }), required: ['name'] } },
  'config.source': { type: 'string', enum: ['files', 'xds'] },
  'config.files': { type: 'object', patternProperties: { '^[^/]+\\.ya?ml$': { type: 'string' } }, additionalProperties: false },
  'redis.type': REDIS_TYPE,
  'redis.perSecond.type': REDIS_TYPE,
  'redis.demo.maxMemory': { type: 'string', pattern: '^[0-9]+(kb|mb|gb)$' },
  'redis.demo.resources': RESOURCES,
  failureMode: { type: 'string', enum: ['local', 'open', 'closed', 'unavailable'] },
  extraEnv: { type: 'array', items: ENV_ENTRY },
  'admin.port': { ...PORT, minimum: 1024 },
  'admin.service.annotations': TEXTS,
  'service.type': { type: 'string', enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
  'service.clusterIP': { type: 'string', pattern: '^(None|[0-9a-f.:]*)$' },
  'service.annotations': TEXTS,
  'service.trafficDistribution': { type: 'string', enum: ['', 'PreferClose', 'PreferSameZone', 'PreferSameNode'] },
  'headlessService.annotations': TEXTS,
  resources: RESOURCES,
  'drain.delay': DURATION,
  'drain.timeout': DURATION,
  terminationGracePeriodSeconds: { type: 'integer', minimum: 1, maximum: 3600 },
  'podDisruptionBudget.maxUnavailable': PERCENTAGE_OR_COUNT,
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
  podSecurityContext: closed({
    // The profile `restricted` demands both.
    runAsNonRoot: { const: true },
    seccompProfile: closed({ type: { enum: ['RuntimeDefault', 'Localhost'] }, localhostProfile: { type: 'string' } }),
    runAsUser: { type: ['integer', 'null'], minimum: 1 },
    runAsGroup: { type: ['integer', 'null'], minimum: 0 },
    fsGroup: { type: 'integer' },
    fsGroupChangePolicy: { type: 'string' },
    supplementalGroups: { type: 'array', items: { type: 'integer' } },
    appArmorProfile: { type: 'object' },
  }),
  'serviceAccount.annotations': TEXTS,
  extraVolumes: { type: 'array', items: { type: 'object', required: ['name'] } },
  extraVolumeMounts: { type: 'array', items: MOUNT },
  'networkPolicy.gateways': PEERS,
  'networkPolicy.prometheus': PEERS,
  'networkPolicy.admin': PEERS,
  'networkPolicy.egress.redis': PEERS,
  'networkPolicy.egress.redisPorts': { type: 'array', items: PORT },
  'networkPolicy.egress.extra': { type: 'array', items: closed({ to: PEERS, ports: { type: 'array' } }) },
  'monitoring.podMonitor.labels': TEXTS,
  'monitoring.podMonitor.interval': DURATION,
  'monitoring.podMonitor.metricRelabelings': { type: 'array', items: { type: 'object' } },
  'monitoring.serviceMonitor.labels': TEXTS,
  'monitoring.serviceMonitor.interval': DURATION,
  'monitoring.serviceMonitor.metricRelabelings': { type: 'array', items: { type: 'object' } },
  'monitoring.rules.labels': TEXTS,
  'monitoring.dashboards.labels': TEXTS,
  'monitoring.dashboards.annotations': TEXTS,
};

/**
 * An object without other fields.
 *
 * @param {Record<string, Schema>} properties
 */
export function closed(properties) {
  return { type: 'object', properties, additionalProperties: false };
}
