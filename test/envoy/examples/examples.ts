/** Every Envoy configuration of deploy/ that limits requests, with its limits. */
import { makeCertificates } from '../../support/servers/certificates';
import type { Example } from './example-gateway';

export const certificates = makeCertificates();

/** In place of Cloudflare's networks, and of those of partners: addresses of this machine. */
export const CLOUDFLARE = '127.20.0';
export const PARTNERS = '127.21.0';

/** Each folder of deploy/envoy/actions/, and what a test has to put into it. `constants` sends the name of its cluster, so it comes first. */
const ACTIONS: Readonly<Record<string, Example['replacements']>> = {
  constants: {},
  addresses: { 'address_prefix: 192.0.2.0': `address_prefix: ${PARTNERS}.0` },
  'api-keys': {},
  certificates: {
    '/etc/envoy/tls/server.crt': certificates.server.cert,
    '/etc/envoy/tls/server.key': certificates.server.key,
    '/etc/envoy/tls/callers-ca.crt': certificates.ca.cert,
  },
  cloudflare: { '{address_prefix: 173.245.48.0, prefix_len: 20}': `{address_prefix: ${CLOUDFLARE}.0, prefix_len: 24}` },
  connections: {},
  costs: {},
  expressions: {},
  headers: {},
  levels: {},
  listener: {},
  overrides: {},
  queries: {},
  thrift: {},
  tokens: {},
};

export const ACTION_NAMES: readonly string[] = Object.keys(ACTIONS);

const USAGE = ['llm-tokens', 'failed-logins', 'in-flight', 'estimate'];

export const EXAMPLES: readonly Example[] = [
  ...Object.entries(ACTIONS).map(([id, replacements = {}]) => ({
    id,
    envoy: `envoy/actions/${id}/envoy.yaml`,
    limits: `envoy/actions/${id}/limits.yaml`,
    replacements,
  })),
  { id: 'payments', envoy: 'envoy/envoy.yaml', limits: 'example/payments.yaml' },
  { id: 'tenants', envoy: 'tenants/envoy.yaml', limits: 'tenants/payments.yaml' },
  ...USAGE.map((id) => ({ id, envoy: `envoy/usage/${id}/envoy.yaml`, limits: `envoy/usage/${id}/limits.yaml` })),
];
