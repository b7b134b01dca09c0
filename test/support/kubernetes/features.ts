/** What users turn on in the chart: groups of alternatives, of which any combination installs. */
import type { Random } from '../random/random';
import type { Values } from './helm';

export interface Feature {
  readonly name: string;
  readonly values: Values;
  /** The oldest Kubernetes that has it. */
  readonly kubernetes?: string;
}

const GATEWAYS = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'envoy' } } }];
const SECRET = 'a-secret';

/** A container of a platform, as the profile `restricted` wants it. */
function container(name: string): Values {
  return {
    name,
    image: `registry.example/${name}:1.0.0`,
    resources: { requests: { cpu: '10m', memory: '16Mi' } },
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  };
}

/** Each first one is what GROUPS need to install at all. */
const CONFIG: readonly Feature[] = [
  {
    name: 'limits inline',
    values: { config: { files: { 'shop.yaml': 'domain: shop\ndescriptors:\n- {key: user}\n' }, check: { strict: true } } },
  },
  { name: 'the example', values: { config: { example: true } } },
  { name: 'an own ConfigMap', values: { config: { existingConfigMap: 'limits' }, test: { domain: 'shop' } } },
  {
    name: 'a ConfigMap for each team',
    values: { config: { configMaps: [{ name: 'limits' }, { name: 'team-b', optional: true }] }, test: { domain: 'shop' } },
  },
  {
    name: 'inline limits and those of a team',
    values: { config: { files: { 'shop.yaml': 'domain: shop\n' }, configMaps: [{ name: 'limits' }] } },
  },
  {
    name: 'limits from git by a sidecar',
    values: {
      config: { volume: { emptyDir: {} } },
      settings: { HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED: true },
      extraContainers: [
        {
          ...container('git-sync'),
          args: ['--repo=https://git.example/limits', '--root=/git', '--link=limits'],
          volumeMounts: [{ name: 'config', mountPath: '/git' }],
        },
      ],
    },
  },
  {
    name: 'limits in a projected volume',
    values: {
      config: {
        volume: { projected: { sources: [{ configMap: { name: 'limits' } }, { configMap: { name: 'team-b', optional: true } }] } },
      },
    },
  },
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
  { name: 'a URL without a port', values: { redis: { url: 'rediss://redis.example/0' } } },
  { name: 'an IPv6 address', values: { redis: { url: '[fd00:10::53]:6390' } } },
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
    {
      name: 'the console behind an Ingress',
      values: {
        admin: {
          enabled: true,
          tokens: { existingSecret: SECRET },
          ingress: {
            enabled: true,
            className: 'nginx',
            annotations: { 'nginx.ingress.kubernetes.io/affinity': 'cookie' },
            hosts: ['weir.example'],
            tls: [{ secretName: 'console-tls', hosts: ['weir.example'] }],
          },
        },
        networkPolicy: { admin: GATEWAYS },
      },
    },
    {
      name: 'the console behind a Gateway',
      values: {
        admin: {
          enabled: true,
          tokens: { existingSecret: SECRET },
          httpRoute: {
            enabled: true,
            annotations: { team: 'limits' },
            parentRefs: [{ name: 'internal', namespace: 'gateways' }],
            hostnames: ['weir.example'],
            filters: [{ type: 'RequestHeaderModifier', requestHeaderModifier: { remove: ['x-user'] } }],
          },
        },
        networkPolicy: { admin: GATEWAYS },
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
    { name: 'another autoscaler', values: { replicas: null, autoscaling: { maxReplicas: 12 } } },
    { name: 'no pod for now', values: { replicas: 0 } },
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
      name: 'pods that stay',
      values: {
        podDisruptionBudget: { minAvailable: '50%', unhealthyPodEvictionPolicy: 'AlwaysAllow' },
        strategy: { rollingUpdate: { maxUnavailable: '25%', maxSurge: 0 } },
        minReadySeconds: 0,
        startupProbe: { failureThreshold: 30 },
        readinessProbe: { grpc: { port: 8081 }, initialDelaySeconds: 1 },
        livenessProbe: null,
        topologySpread: [
          {
            topologyKey: 'topology.kubernetes.io/zone',
            maxSkew: 1,
            whenUnsatisfiable: 'DoNotSchedule',
            minDomains: 2,
            matchLabelKeys: ['pod-template-hash'],
            nodeTaintsPolicy: 'Honor',
          },
        ],
      },
      kubernetes: '1.27',
    },
    { name: 'new pods after old ones', values: { strategy: { type: 'Recreate' } } },
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
      name: 'monitoring in another namespace',
      values: {
        monitoring: {
          podMonitor: {
            enabled: true,
            namespace: 'monitoring',
            scrapeTimeout: '5s',
            relabelings: [{ action: 'labeldrop', regex: 'pod_template_hash' }],
          },
          rules: {
            enabled: true,
            namespace: 'monitoring',
            disabled: ['WeirTopKeyDenied'],
            extra: [{ alert: 'Own', expr: 'up == 0', annotations: { summary: '{{ $labels.instance }} is down' } }],
          },
          dashboards: { enabled: true, namespace: 'grafana' },
        },
      },
    },
    {
      name: 'a ServiceMonitor',
      values: {
        monitoring: { serviceMonitor: { enabled: true, metricRelabelings: [{ action: 'labeldrop', regex: 'key8' }] } },
        service: { ports: { debug: true } },
      },
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
      name: 'labels and annotations on everything',
      values: {
        commonLabels: { team: 'limits', 'helm.sh/chart': 'own', 'app.kubernetes.io/version': 'own', 'sidecar.istio.io/inject': 'true' },
        podLabels: { team: 'edge', tier: 'edge' },
        commonAnnotations: { owner: 'limits', 'helm.sh/hook-weight': '7' },
        deploymentAnnotations: { owner: 'edge', 'reloader.stakater.com/auto': 'true' },
        service: { annotations: { owner: 'edge' } },
        global: { imageRegistry: 'mirror.example:5000', imagePullSecrets: ['mirror', { name: 'other' }] },
        imagePullSecrets: [{ name: 'other' }],
      },
    },
    {
      name: 'containers, hosts and objects of a platform',
      values: {
        initContainers: [container('wait')],
        extraContainers: [container('proxy')],
        extraEnvFrom: [{ prefix: 'OTEL_', configMapRef: { name: 'otel' } }, { secretRef: { name: SECRET, optional: true } }],
        extraObjects: [
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'own', annotations: { note: '{{ as it is }}' } } },
          'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}-own"}\n',
        ],
        automountServiceAccountToken: true,
        runtimeClassName: 'gvisor',
        dnsPolicy: 'ClusterFirst',
        dnsConfig: { options: [{ name: 'ndots', value: '1' }] },
        hostAliases: [{ ip: '10.0.0.9', hostnames: ['redis.example'] }],
        containerSecurityContext: { seLinuxOptions: { type: 'container_t' } },
      },
    },
    {
      name: 'further settings and volumes',
      values: {
        settings: {
          LOG_FORMAT: 'JSON',
          LOG_LEVEL: 'Info',
          METRIC_TOP_KEYS: 5,
          MEMORY_BUCKETS_MAX: 2_000_000,
          NEAR_LIMIT_RATIO: 0.75,
          TRACING_ENABLED: true,
        },
        extraEnv: [{ name: 'OTEL_EXPORTER_OTLP_HEADERS', valueFrom: { secretKeyRef: { name: SECRET, key: 'headers' } } }],
        extraVolumes: [
          { name: 'roots', configMap: { name: 'roots' } },
          { name: 'more', secret: { secretName: SECRET } },
        ],
        extraVolumeMounts: [
          { name: 'roots', mountPath: '/etc/ssl/certs', readOnly: true },
          { name: 'more', mountPath: '/etc/more' },
        ],
        drain: { delay: '1m', timeout: '30s' },
        terminationGracePeriodSeconds: 100,
        http: { json: true, refunds: true, reservations: true },
        networkPolicy: { http: GATEWAYS },
        failureMode: 'closed',
      },
    },
  ],
  [
    { name: 'another namespace', values: { namespaceOverride: 'other', fullnameOverride: 'limits' } },
    { name: 'the longest name', values: { fullnameOverride: 'w'.repeat(50), nameOverride: 'limits' } },
    {
      name: 'a load balancer',
      values: {
        service: {
          type: 'LoadBalancer',
          loadBalancerClass: 'internal',
          loadBalancerSourceRanges: ['10.0.0.0/8'],
          externalTrafficPolicy: 'Local',
          ipFamilyPolicy: 'PreferDualStack',
          ipFamilies: ['IPv6', 'IPv4'],
        },
      },
    },
    { name: 'ports of a node, all of them', values: { service: { type: 'NodePort', ports: { http: true, debug: true } } } },
    {
      name: 'a test in the mesh',
      values: {
        podLabels: { 'sidecar.istio.io/inject': 'true' },
        test: {
          podLabels: { 'sidecar.istio.io/inject': 'true' },
          podAnnotations: { 'proxy.istio.io/config': '{"holdApplicationUntilProxyStarts": true}' },
          sidecarQuitUrl: 'http://127.0.0.1:15020/quitquitquit',
        },
      },
    },
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
