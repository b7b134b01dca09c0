/** The requests that would leave most in a Weir, for each entry at which a client chooses keys and values: nearly 1 MiB each, and no two alike. */
import { callReservations, type ReservationAnswers } from '../../../src/server/transport/grpc/call-server';
import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { callAdmin } from '../admin/admin-client';
import { hangLimitMs } from '../clock/hang-limit';
import { httpRequest } from '../clients/http-client';
import type { RlsClient } from '../clients/rls-client';

/** Bytes of a body, just under their bound of 1 MiB. */
const BODY_BYTES = 1_000_000;

/** The longest text of a request: 64 KiB. */
const TEXT_BYTES = 65_000;

/** Most descriptors, and entries of one. */
const DESCRIPTORS = 128;
const ENTRIES = 64;

/** Most legs of a reservation whose record fits into 16 KiB. */
const LEGS = 28;

/** The rules that the requests meet. */
export const WORST_LIMITS = `
domain: d
overdraft: true
descriptors:
  - { key: shown, detailed_metric: true, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: punished, rate_limit: { unit: hour, requests_per_unit: 1 }, penalty: { denials: 2, within: 1h, block: 1h } }
  - { key: log, rate_limit: { unit: hour, requests_per_unit: 1000, algorithm: sliding_window_log } }
  - key: running
    descriptors: [{ key: request, in_flight: { max: 1000, hold: 1h, id: request } }]
  - { key: checked, rate_limit: { unit: hour, requests_per_unit: 1 } }
  - { key: tenant, tenant: true, default_plan: basic }
plans:
  basic: { rate_limit: { unit: hour, requests_per_unit: 1 } }
`;

export const CHECK_ENV = { CHECK_DOMAIN: 'd', CHECK_DESCRIPTORS: 'checked=header:x-key' };

export interface WorstTarget {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly adminUrl: string;
  readonly adminToken: string;
  readonly rls: RlsClient;
}

export interface WorstRequest {
  readonly name: string;
  /** Each status or code that a request may have. */
  readonly answers: readonly string[];
  /** It has another answer while the store is away. */
  readonly needsStore?: boolean;
  /** Sends the request of this number; resolves to its status or code. */
  readonly send: (target: WorstTarget, n: number) => Promise<string>;
}

interface Entry {
  readonly key: string;
  readonly value: string;
}

interface Descriptor {
  readonly entries: readonly Entry[];
  readonly limit?: object;
  readonly hitsAddend?: number;
  readonly isNegativeHits?: boolean;
}

/** A text that no other request has, of that many bytes as JSON. */
function unique(place: string, bytes: number, filler = 'x'): string {
  const fillerBytes = Buffer.byteLength(JSON.stringify(filler)) - 2;
  return place + filler.repeat(Math.max(0, Math.floor((bytes - place.length) / fillerBytes)));
}

const OVERRIDE = { requestsPerUnit: 1, unit: 'YEAR' };

function many(count: number, make: (i: number) => Descriptor): readonly Descriptor[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

/** The descriptors of a request, by what makes them the worst. */
const DESCRIPTORS_OF: Readonly<Record<string, (place: string) => readonly Descriptor[]>> = {
  'long keys under override limits': (place) => [
    {
      entries: Array.from({ length: 15 }, (_, i) => ({ key: unique(`${place}-${i}-`, TEXT_BYTES), value: 'v' })),
      limit: OVERRIDE,
    },
  ],
  'most descriptors under override limits': (place) =>
    many(DESCRIPTORS, (i) => ({ entries: [{ key: unique(`${place}-${i}-`, 7_500, '€'), value: 'v' }], limit: OVERRIDE })),
  'one small override among long texts': (place) => [
    { entries: [{ key: unique(`${place}-`, 200), value: unique(`${place}-`, 200) }], limit: OVERRIDE },
    ...many(14, (i) => ({ entries: [{ key: 'unknown', value: unique(`${place}-${i}-`, TEXT_BYTES) }] })),
  ],
  'most entries': (place) => [
    {
      entries: Array.from({ length: ENTRIES }, (_, i) => ({ key: unique(`${place}-${i}-`, 7_500), value: unique(place, 7_500, '€') })),
      limit: OVERRIDE,
    },
  ],
  'values of a rule that metrics show': (place) =>
    many(DESCRIPTORS, (i) => ({ entries: [{ key: 'shown', value: unique(`${place}-${i}-`, 7_500, '"') }] })),
  'values of a rule with a penalty': (place) =>
    many(DESCRIPTORS, (i) => ({ entries: [{ key: 'punished', value: unique(`${place}-${i}-`, 7_500) }] })),
  'values of a log': (place) => many(DESCRIPTORS, (i) => ({ entries: [{ key: 'log', value: unique(`${place}-${i}-`, 7_500) }] })),
  'slots of requests in flight': (place) =>
    many(DESCRIPTORS, (i) => ({
      entries: [
        { key: 'running', value: 'all' },
        { key: 'request', value: unique(`${place}-${i}-`, 7_500) },
      ],
    })),
  'tenants without a plan of their own': (place) =>
    many(DESCRIPTORS, (i) => ({ entries: [{ key: 'tenant', value: unique(`${place}-${i}-`, 7_500) }] })),
  'usage reports': (place) =>
    many(DESCRIPTORS, (i) => ({ entries: [{ key: 'shown', value: unique(`${place}-${i}-`, 7_500) }], hitsAddend: 1_000_000 })),
  refunds: (place) =>
    many(DESCRIPTORS, (i) => ({
      entries: [{ key: 'shown', value: unique(`${place}-${i}-`, 7_500) }],
      hitsAddend: 1_000_000,
      isNegativeHits: true,
    })),
};

const DECIDED = ['200', '429'];

/** No two kinds of requests have a key in common. */
function placeOf(via: string, what: string, n: number): string {
  return `${via}${Object.keys(DESCRIPTORS_OF).indexOf(what)}-${n}`;
}

/** Descriptors whose request is sent twice, because a denial leaves more than an admission. */
const DENIED_NEXT = ['long keys under override limits', 'most descriptors under override limits', 'values of a rule with a penalty'];

async function twice(what: string, ask: () => Promise<string>): Promise<string> {
  const first = await ask();
  return DENIED_NEXT.includes(what) ? `${first}, ${await ask()}` : first;
}

function json(what: string, domain: (n: number) => string = () => 'd'): WorstRequest {
  const descriptors = DESCRIPTORS_OF[what]!;
  return {
    name: `/json: ${what}`,
    answers: DENIED_NEXT.includes(what) ? ['200, 429'] : DECIDED,
    send: async ({ httpPort }, n) => {
      const body = { domain: domain(n), descriptors: descriptors(placeOf('h', what, n)) };
      return twice(what, () => post(`http://127.0.0.1:${httpPort}/json`, body));
    },
  };
}

function grpc(what: string, domain: (n: number) => string = () => 'd'): WorstRequest {
  const descriptors = DESCRIPTORS_OF[what]!;
  return {
    name: `ShouldRateLimit: ${what}`,
    answers: DENIED_NEXT.includes(what) ? ['OK, OVER_LIMIT'] : ['OK', 'OVER_LIMIT'],
    send: async ({ rls }, n) => {
      const request = { domain: toByteString(domain(n)), descriptors: descriptors(placeOf('g', what, n)).map(toWire) };
      return twice(what, async () => {
        const answer = await rls.askRaw(request, { timeoutMs: hangLimitMs(10_000) });
        return answer.overall_code === 1 ? 'OK' : 'OVER_LIMIT';
      });
    },
  };
}

function toWire({ entries, limit, hitsAddend, isNegativeHits }: Descriptor) {
  return {
    entries: entries.map(({ key, value }) => ({ key: toByteString(key), value: toByteString(value) })),
    ...(limit !== undefined && { limit: { requests_per_unit: 1, unit: 7 } }),
    ...(hitsAddend !== undefined && { hits_addend: { value: String(hitsAddend) } }),
    ...(isNegativeHits !== undefined && { is_negative_hits: isNegativeHits }),
  };
}

/** The legs of a reservation: keys as long as they may be, then texts without a limit. */
function legs(place: string): readonly Descriptor[] {
  return [
    ...many(LEGS, (i) => ({ entries: [{ key: unique(`${place}-${i}-`, 10_000), value: unique(place, 10_000) }], limit: OVERRIDE })),
    ...many(6, (i) => ({ entries: [{ key: 'unknown', value: unique(`${place}-${i}-`, TEXT_BYTES) }] })),
  ];
}

/** The longest id that a step may have, which needs no escape: of this kind of request alone. */
function idOf(kind: string, n: number): string {
  return `${kind}-${n}-`.padEnd(128, '~');
}

type StepName = keyof ReservationAnswers;

function httpReserve(): WorstRequest {
  return {
    name: '/v1/reservations: Reserve',
    answers: DECIDED,
    send: async ({ httpPort }, n) =>
      post(`http://127.0.0.1:${httpPort}/v1/reservations`, { domain: 'd', descriptors: legs(`r-${n}`), id: idOf('Reserve', n), hits: 1 }),
  };
}

/** What the ids of releases begin with, none of which was reserved. */
export const UNKNOWN_ID_START = 'never-reserved';

/** The kind whose records in Redis the test measures. */
export const RELEASE_OF_UNKNOWN_ID = '/v1/reservations: Release of an unknown id';

function httpRelease(): WorstRequest {
  return {
    name: RELEASE_OF_UNKNOWN_ID,
    answers: DECIDED,
    send: async ({ httpPort }, n) =>
      post(`http://127.0.0.1:${httpPort}/v1/reservations/${idOf(UNKNOWN_ID_START, n)}:release`, {
        domain: 'd',
        descriptors: legs(`u-${n}`),
      }),
  };
}

/** Steps of gRPC, one after another on one id. */
function grpcSteps(steps: readonly StepName[]): WorstRequest {
  return {
    name: `ReservationService: ${steps.join(', ')}`,
    answers: ['OK', 'NOT_FOUND', 'UNAVAILABLE'],
    send: async ({ grpcPort }, n) => {
      const step = { domain: 'd', descriptors: legs(`${steps.join('')}-${n}`).map(toWire), id: idOf(steps.join('-'), n) };
      const server = { address: `127.0.0.1:${grpcPort}`, timeoutMs: hangLimitMs(10_000) };
      try {
        for (const name of steps) {
          await callReservations(name, { ...step, ...((name === 'Reserve' || name === 'Commit') && { hits: '1' }) }, server);
        }
        return 'OK';
      } catch (error) {
        const { code, details = '' } = error as { readonly code?: number; readonly details?: string };
        return code === 5 ? 'NOT_FOUND' : code === 14 ? 'UNAVAILABLE' : `${code}: ${details}`;
      }
    },
  };
}

function adminPut(collection: string, body: (n: number) => object): WorstRequest {
  return admin(`put of ${collection}`, ['200', '201'], (n) => ({
    method: 'PUT',
    path: `/v1/${collection}/d/${`${n}-`.padEnd(64, 'x')}`,
    body: body(n),
  }));
}

function admin(
  name: string,
  answers: readonly string[],
  request: (n: number) => {
    readonly method: string;
    readonly path: string;
    readonly query?: string;
    readonly body?: object;
    readonly headers?: Record<string, string>;
  },
): WorstRequest {
  return {
    name: `admin API: ${name}`,
    answers,
    needsStore: true,
    send: async ({ adminUrl, adminToken }, n) => {
      const { status, body } = await callAdmin(adminUrl, { token: adminToken, ...request(n) });
      return answers.includes(String(status)) ? String(status) : `${status} ${body.slice(0, 300)}`;
    },
  };
}

/** The entries of a record, just below its bound of 12 KiB. */
function selector(n: number): readonly Entry[] {
  return Array.from({ length: 9 }, (_, i) => ({ key: unique(`${n}-${i}-`, 256), value: unique(`${n}-`, 1_000, '"') }));
}

/** Descriptors as long as a body of the admin API may be. */
function longDescriptors(n: number): readonly Descriptor[] {
  return many(DESCRIPTORS / 2, (i) => ({ entries: [{ key: 'shown', value: unique(`a-${n}-${i}-`, 3_500) }] }));
}

const REASON = 'r'.repeat(200);

async function post(url: string, body: object): Promise<string> {
  const text = JSON.stringify(body);
  const bytes = Buffer.byteLength(text);
  if (bytes > 1_048_576 || bytes < BODY_BYTES / 2) throw new Error(`a body of ${bytes} bytes`);
  const { status, body: answer } = await httpRequest(url, { method: 'POST', body: text });
  return status === 200 || status === 429 || status === 404 ? String(status) : `${status} ${answer.slice(0, 300)}`;
}

const unknownDomain = (n: number): string => unique(`${n}-`, TEXT_BYTES);

/** Many new keys with limits: they fill what is bounded by number. */
export const FILLING_REQUEST = json('most descriptors under override limits');

/** A message over gRPC is the worse one, because each text in it is a slice of it. */
const HTTP_KINDS = ['long keys under override limits', 'values of a rule that metrics show'];

export const WORST_REQUESTS: readonly WorstRequest[] = [
  ...HTTP_KINDS.map((what) => json(what)),
  { ...json('one small override among long texts', unknownDomain), name: '/json: unknown domains' },
  ...Object.keys(DESCRIPTORS_OF).map((what) => grpc(what)),
  { ...grpc('one small override among long texts', unknownDomain), name: 'ShouldRateLimit: unknown domains' },
  {
    name: '/check: long headers',
    answers: DECIDED,
    send: async ({ httpPort }, n) => {
      const headers = { 'x-key': unique(`${n}-`, 14_000) };
      return String((await httpRequest(`http://127.0.0.1:${httpPort}/check`, { headers })).status);
    },
  },
  httpReserve(),
  httpRelease(),
  grpcSteps(['Reserve', 'Extend', 'Commit']),
  grpcSteps(['Reserve', 'Release']),
  grpcSteps(['Commit']),
  grpcSteps(['Extend']),
  adminPut('blocks', (n) => ({ entries: selector(n), reason: REASON })),
  adminPut('passes', (n) => ({ entries: selector(n), reason: REASON })),
  adminPut('overrides', (n) => ({ entries: selector(n), reason: REASON, limit: { requests_per_unit: 1, unit: 'minute' } })),
  adminPut('tenants', () => ({ plan: 'basic', reason: REASON })),
  admin('explain', ['200'], (n) => ({ method: 'POST', path: '/v1/explain', body: { domain: 'd', descriptors: longDescriptors(n) } })),
  admin('lookup of buckets', ['200'], (n) => ({
    method: 'POST',
    path: '/v1/buckets/lookup',
    body: { domain: 'd', descriptors: longDescriptors(n) },
  })),
  admin('reset of buckets', ['200'], (n) => ({
    method: 'POST',
    path: '/v1/buckets/reset',
    body: { domain: 'd', entries: [{ key: 'shown', value: unique(`${n}-`, 4_000) }], reason: REASON },
    headers: { 'idempotency-key': `${n}-`.padEnd(255, 'x') },
  })),
  admin('listing of buckets', ['200', '501'], (n) => ({
    method: 'GET',
    path: '/v1/buckets',
    query: `domain=d&prefix=${unique(`${n}-`, 1_000)}`,
  })),
];
