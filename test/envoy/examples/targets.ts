/** What the published Envoy configurations limit: how a caller asks for it, how often it passes, and which descriptor counts it. */
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import type { Pair } from '../../support/servers/certificates';
import type { RawRequest } from '../../support/clients/raw-request';
import { bearer } from '../chain/tokens';
import { certificates, CLOUDFLARE } from './examples';

/** One who is limited: by its address, and by its name where an example knows names. */
export interface Caller {
  readonly name: string;
  readonly address: string;
}

export interface Target {
  readonly example: string;
  /** What the limit is by. */
  readonly by: string;
  readonly request: (caller: Caller) => RawRequest;
  /** As many requests of one caller pass at once. */
  readonly passes: number;
  /** What a check says is left then, if another limit than the request's own decides it; by default nothing. */
  readonly left?: number;
  /** As many pass whatever the caller chooses, if choices have limits of their own; by default no more. */
  readonly total?: number;
  /** What time brings back, if more than a few in an hour. */
  readonly perMinute?: number;
  /** Costs are charged when the stream has ended: each request makes two calls, and the next one waits for them. */
  readonly settles?: true;
  /** The descriptor that is used up then. */
  readonly descriptor: (caller: Caller) => Readonly<Record<string, string>>;
  /** Headers that the example reads or writes, which callers may try. */
  readonly forged?: readonly string[];
}

/** A caller's network, as `masked_remote_address` sends it. */
function networkOf({ address }: Caller): string {
  return `${address}/32`;
}

function plain(target: string, headers: RawRequest['headers'] = []): Target['request'] {
  return ({ address }) => ({ from: address, target, headers });
}

function withToken(target: string, aud: string, claims: object = {}): Target['request'] {
  return ({ name, address }) => ({ from: address, target, headers: Object.entries(bearer({ sub: name, aud, ...claims })) });
}

function apiClientOf({ name }: Caller): string {
  return name.startsWith('victim') ? 'bank' : 'shop';
}

const CHUNKED = { method: 'POST', body: '3\r\nabc\r\n0\r\n\r\n' };

export const TARGETS: readonly Target[] = [
  {
    example: 'addresses',
    by: 'remote_address',
    request: plain('/exact'),
    passes: 10,
    descriptor: ({ address }) => ({ remote_address: address }),
  },
  {
    example: 'addresses',
    by: 'masked_remote_address',
    request: plain('/network'),
    passes: 10,
    descriptor: (caller) => ({ masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'addresses',
    by: 'remote_address_match, for those who are no partners',
    request: plain('/partners'),
    passes: 10,
    descriptor: (caller) => ({ remote_address_match: 'other', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'headers',
    by: 'request_headers, for a known app',
    request: plain('/search', [['x-app', 'ios']]),
    passes: 8,
    total: 10,
    descriptor: (caller) => ({ limit: 'app', masked_remote_address: networkOf(caller), app: 'ios' }),
    forged: ['x-app'],
  },
  {
    example: 'headers',
    by: 'request_headers, without the header',
    request: plain('/search'),
    passes: 4,
    total: 10,
    descriptor: (caller) => ({ limit: 'app', masked_remote_address: networkOf(caller) }),
    forged: ['x-app'],
  },
  {
    example: 'queries',
    by: 'query_parameters',
    request: plain('/list?format=csv&format=mine'),
    passes: 4,
    total: 10,
    descriptor: (caller) => ({ limit: 'format', masked_remote_address: networkOf(caller), format: 'csv' }),
  },
  {
    example: 'queries',
    by: 'query_parameters, without the parameter',
    request: plain('/list?other=csv'),
    passes: 4,
    total: 10,
    descriptor: (caller) => ({ limit: 'format', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'headers',
    by: 'header_value_match',
    request: ({ address }) => ({ from: address, method: 'PATCH', target: '/notes' }),
    passes: 10,
    descriptor: (caller) => ({ method: 'write', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'queries',
    by: 'query_parameter_value_match',
    request: plain('/report'),
    passes: 5,
    descriptor: (caller) => ({ report: 'expensive', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'tokens',
    by: 'metadata of the request',
    request: withToken('/metadata', 'api'),
    passes: 10,
    descriptor: ({ name }) => ({ user: name, masked_remote_address: 'any' }),
    forged: ['x-jwt-payload', 'sub', 'x-user'],
  },
  {
    example: 'tokens',
    by: 'metadata of the request, without a token',
    request: plain('/metadata'),
    passes: 5,
    descriptor: (caller) => ({ user: 'anonymous', masked_remote_address: networkOf(caller) }),
    forged: ['x-jwt-payload', 'sub', 'x-user', 'proxy-authorization'],
  },
  {
    example: 'tokens',
    by: 'metadata of the route',
    request: plain('/route'),
    passes: 10,
    descriptor: (caller) => ({ class: 'heavy', masked_remote_address: networkOf(caller) }),
    forged: ['class'],
  },
  {
    example: 'tokens',
    by: 'jwt_claim',
    request: withToken('/claim', 'api'),
    passes: 10,
    descriptor: ({ name }) => ({ user: name, masked_remote_address: 'any' }),
    forged: ['x-jwt-payload', 'sub', 'x-user'],
  },
  {
    example: 'tokens',
    by: 'jwt_claim, without a token',
    request: plain('/claim'),
    passes: 5,
    descriptor: (caller) => ({ user: 'anonymous', masked_remote_address: networkOf(caller) }),
    forged: ['x-jwt-payload', 'sub', 'x-user'],
  },
  {
    example: 'api-keys',
    by: 'the client of an API key',
    request: (caller) => ({ from: caller.address, target: '/data', headers: [['x-api-key', `key-of-${apiClientOf(caller)}-1`]] }),
    passes: 10,
    descriptor: (caller) => ({ client: apiClientOf(caller) }),
    forged: ['x-client-id'],
  },
  {
    example: 'certificates',
    by: 'a matching input',
    request: certified('/input'),
    passes: 10,
    descriptor: ({ name }) => ({ peer: `spiffe://example.com/input/${name}` }),
    forged: ['x-peer', 'x-forwarded-client-cert'],
  },
  {
    example: 'certificates',
    by: 'a header that Envoy writes',
    request: certified('/header'),
    passes: 10,
    descriptor: ({ name }) => ({ peer: `spiffe://example.com/header/${name}` }),
    forged: ['x-peer', 'x-forwarded-client-cert'],
  },
  {
    example: 'constants',
    by: 'generic_key of a virtual host',
    request: plain('/', [['host', 'shop.example.com']]),
    passes: 10,
    descriptor: (caller) => ({ host: 'shop', masked_remote_address: networkOf(caller) }),
    forged: ['x-forwarded-host', 'x-host'],
  },
  {
    example: 'constants',
    by: 'source_cluster and destination_cluster',
    request: plain('/clusters'),
    passes: 10,
    descriptor: (caller) => ({ source_cluster: 'gateway', destination_cluster: 'backend', masked_remote_address: networkOf(caller) }),
    forged: ['x-envoy-downstream-service-cluster', 'x-envoy-downstream-service-node'],
  },
  {
    example: 'expressions',
    by: 'an expression over the length',
    request: ({ address }) => ({ from: address, target: '/files', headers: [['transfer-encoding', 'chunked']], ...CHUNKED }),
    passes: 10,
    descriptor: (caller) => ({ class: 'large', masked_remote_address: networkOf(caller) }),
    forged: ['content-length', 'x-content-length'],
  },
  {
    example: 'expressions',
    by: 'an expression with a header, for other apps',
    request: plain('/apps', [['x-app', 'mine']]),
    passes: 4,
    total: 10,
    descriptor: (caller) => ({ masked_remote_address: networkOf(caller), app: 'other' }),
    forged: ['x-app'],
  },
  {
    example: 'expressions',
    by: 'a matching input',
    request: plain('/input', [['x-app', 'mine']]),
    passes: 5,
    total: 10,
    descriptor: (caller) => ({ input: 'app', masked_remote_address: networkOf(caller), app: 'any' }),
    forged: ['x-app'],
  },
  {
    example: 'costs',
    by: 'hits_addend.number',
    request: plain('/export'),
    passes: 10,
    descriptor: (caller) => ({ cost: 'exports', masked_remote_address: networkOf(caller) }),
    forged: ['x-envoy-ratelimit-hits', 'x-hits'],
  },
  {
    example: 'costs',
    by: 'hits_addend.format',
    request: plain('/batch'),
    passes: 2,
    descriptor: (caller) => ({ cost: 'batches', masked_remote_address: networkOf(caller) }),
    forged: ['x-size'],
  },
  {
    example: 'overrides',
    by: 'the limit in a token',
    request: withToken('/contract', 'api', { limit: { requests_per_unit: 20, unit: 'HOUR' } }),
    passes: 20,
    descriptor: ({ name }) => ({ user: name }),
    forged: ['x-limit', 'limit'],
  },
  {
    example: 'overrides',
    by: 'the limit of a route',
    request: withToken('/constant', 'api'),
    passes: 7,
    // Of the configured 1000, which the override replaces.
    left: 993,
    descriptor: (caller) => ({ override: 'constant', masked_remote_address: networkOf(caller) }),
    forged: ['x-limit', 'limit'],
  },
  {
    example: 'levels',
    by: 'the virtual host',
    request: plain('/inherits'),
    passes: 10,
    descriptor: (caller) => ({ level: 'host', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'levels',
    by: 'the route beside the virtual host',
    request: plain('/includes'),
    passes: 5,
    descriptor: (caller) => ({ level: 'route', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'levels',
    by: 'the route alone',
    request: plain('/replaces'),
    passes: 5,
    descriptor: (caller) => ({ level: 'route', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'levels',
    by: "the filter's configuration of a route",
    request: plain('/per-route'),
    passes: 5,
    descriptor: (caller) => ({ level: 'per-route', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'listener',
    by: 'the filter itself',
    request: plain('/'),
    passes: 5,
    descriptor: (caller) => ({ route: 'any', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'listener',
    by: "the filter's configuration of a route",
    request: plain('/bulk'),
    passes: 20,
    // Every other spelling is another route, which has the limit of all.
    total: 25,
    descriptor: (caller) => ({ route: 'bulk', masked_remote_address: networkOf(caller) }),
  },
  {
    example: 'cloudflare',
    by: 'CF-Connecting-IP',
    request: ({ address }) => ({ from: `${CLOUDFLARE}.1`, target: '/', headers: [['cf-connecting-ip', address]] }),
    passes: 10,
    descriptor: (caller) => ({ masked_remote_address: networkOf(caller) }),
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
    settles: true,
    descriptor: ({ name }) => ({ user: name }),
    forged: ['x-user', 'x-team', 'x-usage-tokens'],
  },
  {
    example: 'estimate',
    by: 'tokens of a user, with an estimate',
    request: withToken('/v1/chat?tokens=300000', 'llm'),
    passes: 1,
    settles: true,
    descriptor: ({ name }) => ({ user: name }),
    forged: ['x-user', 'x-estimated-tokens', 'x-usage-tokens'],
  },
  {
    example: 'failed-logins',
    by: 'failed logins of an address',
    request: plain('/login?status=401'),
    passes: 5,
    settles: true,
    descriptor: (caller) => ({ masked_remote_address: networkOf(caller) }),
  },
];

function certified(target: string): Target['request'] {
  const pairs = new Map<string, RawRequest['tls']>();
  return ({ name, address }) => {
    const tls = pairs.get(name) ?? tlsOf(certificates.workload(`spiffe://example.com${target}/${name}`));
    pairs.set(name, tls);
    return { from: address, target, tls };
  };
}

function tlsOf({ cert, key }: Pair): ConnectionOptions {
  return { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(certificates.ca.cert) };
}
