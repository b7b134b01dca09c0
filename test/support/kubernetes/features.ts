/** What users turn on in the chart: groups of alternatives, of which any combination installs. */
import type { Random } from '../random/random';
import type { Values } from './helm';

export interface Feature {
  readonly name: string;
  readonly values: Values;
}

const GATEWAYS = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'envoy' } } }];
const SECRET = 'a-secret';

/** Each first one is what GROUPS need to install at all. */
const CONFIG: readonly Feature[] = [
  {
    name: 'limits inline',
    values: { config: { files: { 'shop.yaml': 'domain: shop\ndescriptors:\n- {key: user}\n' }, check: { strict: true } } },
  },
  { name: 'the example', values: { config: { example: true } } },
  { name: 'an own ConfigMap', values: { config: { existingConfigMap: 'limits' }, test: { domain: 'shop' } } },
  { name: 'no check', values: { config: { existingConfigMap: 'limits', check: { enabled: false } } } },
  {
    name: 'xDS with TLS',
    values: {
      config: { source: 'xds', xds: { server: 'control:18000', tls: { enabled: true, existingSecret: SECRET, clientCertificate: true } } },
    },
  },
];

const REDIS: readonly Feature[] = [
  { name: 'one Redis', values: { redis: { url: 'redis:6379' } } },
  { name: 'a demo Redis', values: { redis: { demo: { enabled: true } } } },
  { name: 'an address in a Secret', values: { redis: { urlSecret: { name: SECRET } }, networkPolicy: { egress: { redisPorts: [6380] } } } },
  {
    name: 'a cluster with TLS',
    values: {
      redis: { type: 'cluster', url: 'r0:6379,r1:6380', auth: { existingSecret: SECRET }, tls: { enabled: true, existingSecret: SECRET } },
    },
  },
  {
    name: 'Sentinel with passwords',
    values: {
      redis: {
        type: 'sentinel',
        url: 'primary,s1:26379,s2:26379',
        keyPrefix: 'limits/',
        auth: { existingSecret: SECRET },
        sentinelAuth: { existingSecret: SECRET, key: 'sentinel' },
      },
    },
  },
  {
    name: 'a second Redis',
    values: {
      redis: {
        url: 'redis:6379',
        tls: { existingSecret: SECRET, clientCertificate: true, skipHostnameVerification: true },
        perSecond: { enabled: true, url: 'fast:6379', auth: { existingSecret: SECRET }, tls: { enabled: true } },
      },
    },
  },
];

/** Groups that may be left out. */
const OPTIONAL: readonly (readonly Feature[])[] = [
  [
    { name: 'TLS', values: { tls: { enabled: true, existingSecret: SECRET } } },
    {
      name: 'client certificates',
      values: { tls: { enabled: true, existingSecret: SECRET, clients: { verify: true, san: 'envoy.shop', testSecret: SECRET } } },
    },
  ],
  [
    { name: 'admin tokens', values: { admin: { enabled: true, tokens: { existingSecret: SECRET } }, controlData: true } },
    {
      name: 'admin JWTs with TLS',
      values: {
        admin: {
          enabled: true,
          port: 9443,
          console: false,
          jwt: { existingSecret: SECRET, issuer: 'https://login.example', audience: 'weir' },
          tls: { existingSecret: SECRET, verifyClients: true },
          service: { annotations: { team: 'limits' } },
        },
      },
    },
  ],
  [
    { name: 'an autoscaler', values: { autoscaling: { enabled: true, maxReplicas: 6 }, workers: 2 } },
    {
      name: 'an autoscaler by a metric',
      values: {
        autoscaling: {
          enabled: true,
          cpuMillicoresPerWorker: 0,
          metrics: [
            {
              type: 'Pods',
              pods: { metric: { name: 'nodejs_eventloop_lag_p99_seconds' }, target: { type: 'AverageValue', averageValue: '5m' } },
            },
          ],
          behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
        },
      },
    },
    { name: 'one pod', values: { replicas: 1, podDisruptionBudget: { enabled: false }, topologySpread: [] } },
  ],
  [
    { name: 'a network policy', values: { networkPolicy: { enabled: true, gateways: GATEWAYS } } },
    {
      name: 'a network policy with all peers',
      values: {
        networkPolicy: {
          enabled: true,
          gateways: GATEWAYS,
          prometheus: GATEWAYS,
          admin: GATEWAYS,
          egress: { redis: [{ ipBlock: { cidr: '10.0.0.0/8' } }], extra: [{ ports: [{ port: 4318, protocol: 'TCP' }] }] },
        },
      },
    },
    {
      name: 'a network policy for incoming calls',
      values: { networkPolicy: { enabled: true, gateways: GATEWAYS, egress: { enabled: false } } },
    },
  ],
  [
    {
      name: 'a PodMonitor, alerts and dashboards',
      values: {
        monitoring: {
          podMonitor: { enabled: true, labels: { release: 'prometheus' } },
          rules: { enabled: true, runbookUrl: 'https://docs.example/runbook' },
          dashboards: { enabled: true, annotations: { grafana_folder: 'Limits' } },
        },
      },
    },
    {
      name: 'a ServiceMonitor',
      values: { monitoring: { serviceMonitor: { enabled: true, metricRelabelings: [{ action: 'labeldrop', regex: 'key8' }] } } },
    },
  ],
  [
    {
      name: 'a place for the pods',
      values: {
        image: { repository: 'registry.example/weir', digest: `sha256:${'a'.repeat(64)}`, pullPolicy: 'Always' },
        imagePullSecrets: [{ name: SECRET }],
        nodeSelector: { pool: 'edge' },
        tolerations: [{ key: 'edge', operator: 'Exists', effect: 'NoSchedule' }],
        affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
        priorityClassName: 'system-cluster-critical',
        commonLabels: { team: 'limits' },
        podLabels: { tier: 'edge' },
        podAnnotations: { note: 'limits' },
        serviceAccount: { create: false, name: 'limits' },
        podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: 2000 },
      },
    },
    {
      name: 'further settings and volumes',
      values: {
        settings: { LOG_FORMAT: 'json', METRIC_TOP_KEYS: 5, TRACING_ENABLED: true },
        extraEnv: [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: { secretKeyRef: { name: SECRET, key: 'headers' } } }],
        extraVolumes: [{ name: 'roots', configMap: { name: 'roots' } }],
        extraVolumeMounts: [{ name: 'roots', mountPath: '/etc/ssl/certs', readOnly: true }],
        drain: { delay: '1m', timeout: '30s' },
        terminationGracePeriodSeconds: 100,
        http: { json: true, refunds: true, reservations: true },
        failureMode: 'closed',
      },
    },
  ],
  [
    { name: 'another namespace', values: { namespaceOverride: 'other', fullnameOverride: 'limits' } },
    {
      name: 'other Services',
      values: { service: { clusterIP: 'None', annotations: { team: 'limits' } }, headlessService: { enabled: false } },
    },
  ],
];

/** Each feature once, beside the first of the groups that cannot be left out. */
export function singleFeatures(): readonly (readonly Feature[])[] {
  const [config, redis] = [CONFIG[0]!, REDIS[0]!];
  return [
    ...CONFIG.map((feature) => [feature, redis]),
    ...REDIS.map((feature) => [config, feature]),
    ...OPTIONAL.flat().map((feature) => [config, redis, feature]),
  ];
}

export function randomFeatures(random: Random): readonly Feature[] {
  const oneOf = (group: readonly Feature[]): Feature => group[random(group.length)]!;
  return [oneOf(CONFIG), oneOf(REDIS), ...OPTIONAL.flatMap((group) => (random(3) === 0 ? [] : [oneOf(group)]))];
}

/** Their values as one, as Helm merges values files. */
export function valuesOf(features: readonly Feature[]): Values {
  return features.reduce<Values>((values, feature) => mergeValues(values, feature.values), {});
}

export function mergeValues(below: Values, above: Values): Values {
  const names = [...new Set([...Object.keys(below), ...Object.keys(above)])];
  return Object.fromEntries(
    names.map((name) => {
      const [under, over] = [below[name], above[name]];
      return [name, isMap(under) && isMap(over) ? mergeValues(under, over) : name in above ? over : under];
    }),
  );
}

function isMap(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
