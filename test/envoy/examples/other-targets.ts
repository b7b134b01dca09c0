/** The limits of the other published configurations: the gateway, Istio, tenants and usage. */
import { bearer } from '../chain/tokens';
import { certified, networkOf, plain, withToken, type Caller, type Target } from './target';

/** The key of a caller in deploy/envoy/recipes. */
function recipeKeyOf({ name }: Caller): string {
  return name.startsWith('victim') ? 'key-of-bank-1' : 'key-of-shop-1';
}

function recipeClientOf({ name }: Caller): string {
  return name.startsWith('victim') ? 'bank' : 'shop';
}

export const OTHER_TARGETS: readonly Target[] = [
  {
    example: 'recipes',
    by: 'a route, for the client of an API key',
    request: (caller) => ({ from: caller.address, target: '/search', headers: [['x-api-key', recipeKeyOf(caller)]] }),
    passes: 5,
    // Spellings that Envoy takes for another path count against the limit of the key.
    total: 25,
    descriptor: (caller) => ({ client: recipeClientOf(caller), route: 'search' }),
    forged: ['x-client-id'],
  },
  {
    example: 'recipes',
    by: 'failed logins of an address',
    request: plain('/login?status=401'),
    passes: 3,
    settlesAfter: 3,
    descriptor: (caller) => ({ login: 'failed', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'payments',
    by: 'path and client',
    request: plain('/payment'),
    passes: 3,
    perMinute: 1,
    descriptor: ({ address }) => ({ path: '/payment', client: `${address}/32` }),
    forged: ['x-client', 'x-plan', 'x-merchant'],
  },
  {
    example: 'istio-gateway',
    by: 'path and client',
    request: plain('/payment'),
    passes: 3,
    perMinute: 1,
    descriptor: ({ address }) => ({ path: '/payment', client: address }),
    forged: ['x-client', 'x-plan', 'x-merchant'],
  },
  {
    example: 'istio-sidecar',
    by: 'the certificate of the calling workload',
    request: certified('spiffe://cluster.local/ns/shop/sa/', '/'),
    passes: 60,
    perMinute: 60,
    descriptor: ({ name }) => ({ workload: 'payments', caller: `spiffe://cluster.local/ns/shop/sa/${name}` }),
    forged: ['x-caller', 'x-caller-address', 'x-forwarded-client-cert'],
  },
  {
    example: 'istio-sidecar',
    by: 'address, without a certificate',
    request: ({ address }) => ({ from: address, target: '/', tls: { rejectUnauthorized: false } }),
    passes: 10,
    descriptor: ({ address }) => ({ anonymous_at: 'payments', caller: 'anonymous', address }),
    forged: ['x-caller', 'x-caller-address', 'x-forwarded-client-cert'],
  },
  {
    example: 'tenants',
    by: 'merchant, as its token names it',
    request: ({ name, address }) => ({ from: address, target: '/payment', headers: Object.entries(bearer({ merchant: name })) }),
    passes: 100,
    perMinute: 100,
    descriptor: ({ name }) => ({ merchant: name }),
    forged: ['x-merchant'],
  },
  {
    example: 'llm-tokens',
    by: 'tokens of a user',
    request: withToken('/v1/chat?tokens=300000', 'llm', { team: 'team' }),
    passes: 1,
    settlesAfter: 2,
    descriptor: ({ name }) => ({ user: name }),
    forged: ['x-user', 'x-team', 'x-usage-tokens'],
  },
  {
    example: 'estimate',
    by: 'tokens of a user, with an estimate',
    request: withToken('/v1/chat?tokens=300000', 'llm'),
    passes: 1,
    settlesAfter: 2,
    descriptor: ({ name }) => ({ user: name }),
    forged: ['x-user', 'x-estimated-tokens', 'x-usage-tokens'],
  },
  {
    example: 'failed-logins',
    by: 'failed logins of an address',
    request: plain('/login?status=401'),
    passes: 5,
    settlesAfter: 2,
    descriptor: (caller) => ({ masked_remote_address: networkOf(caller) }),
  },
];
