/** Every Envoy configuration of deploy/ that limits requests, with its limits. */
import { makeCertificates } from '../../support/servers/certificates';
import { KEYS } from '../chain/tokens';
import type { Example } from './example-gateway';
import { istioGateway, istioSidecar, meshLimits } from './istio-proxy';

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
  // Its backend speaks Thrift.
  thrift: { '{address: backend, port_value: 8080}': '{address: thrift, port_value: 9090}' },
  tokens: {},
};

export const ACTION_NAMES: readonly string[] = Object.keys(ACTIONS);

/** The configurations with one line less that protects them: attacks on these have to succeed. */
export const WEAKENED: readonly Example[] = [
  {
    id: 'weak-header',
    envoy: 'envoy/envoy.yaml',
    limits: 'example/payments.yaml',
    replacements: { '- remove: x-client': '- remove: x-other', OVERWRITE_IF_EXISTS_OR_ADD: 'ADD_IF_ABSENT' },
  },
  {
    id: 'weak-address',
    envoy: 'envoy/actions/addresses/envoy.yaml',
    limits: 'envoy/actions/addresses/limits.yaml',
    replacements: { 'use_remote_address: true': 'use_remote_address: false' },
  },
  {
    id: 'weak-default',
    envoy: 'envoy/actions/headers/envoy.yaml',
    limits: 'envoy/actions/headers/limits.yaml',
    replacements: {
      ', skip_if_absent: true': '',
      'generic_key: {descriptor_key: limit, descriptor_value: caller}': 'request_headers: {header_name: x-app, descriptor_key: limit}',
    },
  },
];

const USAGE = ['llm-tokens', 'failed-logins', 'in-flight', 'estimate', 'mcp-tools'];

const JWKS = `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256",${Object.values(KEYS).join(',')}}]}`;

export const EXAMPLES: readonly Example[] = [
  ...Object.entries(ACTIONS).map(([id, replacements = {}]) => ({
    id,
    envoy: `envoy/actions/${id}/envoy.yaml`,
    limits: `envoy/actions/${id}/limits.yaml`,
    replacements,
  })),
  { id: 'payments', envoy: 'envoy/envoy.yaml', limits: 'example/payments.yaml' },
  { id: 'recipes', envoy: 'envoy/recipes/envoy.yaml', limits: 'envoy/recipes/limits.yaml' },
  { id: 'tenants', envoy: 'tenants/envoy.yaml', limits: 'tenants/payments.yaml' },
  { id: 'istio-gateway', envoy: { text: istioGateway(JWKS) }, limits: 'example/payments.yaml' },
  { id: 'istio-sidecar', envoy: { text: istioSidecar(certificates) }, limits: { text: meshLimits() } },
  ...USAGE.map((id) => ({ id, envoy: `envoy/usage/${id}/envoy.yaml`, limits: `envoy/usage/${id}/limits.yaml` })),
];
