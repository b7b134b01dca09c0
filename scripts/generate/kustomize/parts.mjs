/** The parts of deploy/kubernetes, each by values of the chart: the base, what stands beside it, and components that change it. */

/** @typedef {{ readonly [name: string]: unknown }} Values */

/**
 * What every part has: fixed names, no service account, and no `helm test`, which kustomize cannot run.
 *
 * @type {Values}
 */
export const COMMON = { fullnameOverride: 'weir', serviceAccount: { create: false }, test: { enabled: false } };

/** @type {Values} */
export const BASE = { config: { example: true }, redis: { url: 'weir-redis:6379' } };

/** The Redis for a try, beside the base. */
export const REDIS = { config: { example: true }, redis: { demo: { enabled: true } } };

export const AI_GATEWAY_PRESET = 'ai-gateway';

/**
 * @typedef {object} Component
 * @property {string} name
 * @property {string} about The comment of its kustomization.
 * @property {Values} values Beside those of the base.
 */

/** @type {readonly Component[]} */
export const COMPONENTS = [
  {
    name: 'network-policy',
    about:
      'Who reaches which port, and what Weir reaches. The labels of your namespaces are yours: put them in. What each port can do: .github/SECURITY.md.',
    values: {
      networkPolicy: {
        enabled: true,
        gateways: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'istio-system' } } }],
        prometheus: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
      },
    },
  },
  {
    name: 'monitoring',
    about: 'Metrics and alerts for the Prometheus Operator. Dashboards: deploy/README.md.',
    values: { monitoring: { podMonitor: { enabled: true }, rules: { enabled: true } } },
  },
  {
    name: 'admin',
    about: 'The admin API and the console on port 8090, with the tokens of the Secret weir-admin-tokens (key `tokens`).',
    values: { admin: { enabled: true, tokens: { existingSecret: 'weir-admin-tokens' } } },
  },
  {
    name: 'tls',
    about: 'TLS on the gRPC port, with the certificate of the Secret weir-tls. Clients must show one that its ca.crt has signed.',
    values: { tls: { enabled: true, existingSecret: 'weir-tls', clients: { verify: true } } },
  },
  {
    name: 'redis-password',
    about: 'The password of Redis from the Secret weir-redis-password (key `password`). Weir reads it for each new connection.',
    values: { redis: { auth: { existingSecret: 'weir-redis-password' } } },
  },
  {
    name: 'redis-tls',
    about: 'TLS to Redis, whose certificate the ca.crt of the Secret weir-redis-tls has signed.',
    values: { redis: { tls: { enabled: true, existingSecret: 'weir-redis-tls' } } },
  },
  {
    name: 'autoscaling',
    about: 'From 2 to 10 pods by CPU.',
    values: { autoscaling: { enabled: true } },
  },
];
