/** Each wrong input of a program gets an error that names the field and what to write. */

import type { IncomingMessage } from 'node:http';
import { createClient } from '../../../src/program/library/client/create-client';
import { createLimiter } from '../../../src/program/library/in-process/create-limiter';
import { toWireRequest } from '../../../src/program/library/limiter/to-wire-request';
import type { LimitRequest } from '../../../src/program/library/limiter/limiter';
import { clientAddress, rateLimit as forExpress, type ClientAddressOptions } from '../../../src/program/library/middleware/express';
import { rateLimit as forFastify } from '../../../src/program/library/middleware/fastify';
import { rateLimit as forHono } from '../../../src/program/library/middleware/hono';
import { rateLimit as forKoa } from '../../../src/program/library/middleware/koa';

const RULES = { text: 'domain: shop\ndescriptors:\n  - key: user\n    rate_limit: { unit: hour, requests_per_unit: 1 }\n' };
const REQUEST = { domain: 'shop', descriptors: [{ user: 'zoe' }] };
const LIMITER = { check: () => Promise.reject(new Error('asked')) };
const UINT32_MAX = 4_294_967_295;

test.each<[unknown, string]>([
  [undefined, 'createClient takes an object with options, not undefined'],
  ['weir:8081', 'createClient takes an object with options, not a string'],
  [{}, 'address is undefined; write HOST:PORT'],
  [{ adress: 'weir:8081' }, 'the argument of createClient has the field "adress", which nothing reads; did you mean address?'],
  [{ address: 'weir' }, 'address is "weir"; write HOST:PORT'],
  [{ address: 'weir:8081', timeout: 20 }, 'has the field "timeout", which nothing reads; did you mean timeoutMs?'],
  [{ address: 'weir:8081', timeoutMs: '20' }, 'timeoutMs is a string; set a whole number from 1 to 60000'],
  [{ address: 'weir:8081', timeoutMs: 0.5 }, 'timeoutMs is 0.5; set a whole number from 1 to 60000'],
  [{ address: 'weir:8081', connections: 65 }, 'connections is 65; set a whole number from 1 to 64'],
  [{ address: 'weir:8081', inFlightMax: null }, 'inFlightMax is null; set a whole number from 1 to 1000000'],
  [{ address: 'weir:8081', waitersMax: 0 }, 'waitersMax is 0; set a whole number from 1 to 1000000'],
  [{ address: 'weir:8081', waitBytesMax: 1 }, 'waitBytesMax is 1; set a whole number from 4096 to 1073741824'],
  [{ address: 'weir:8081', failureMode: 'fail-open' }, 'failureMode is "fail-open"; write open or closed'],
  [{ address: 'weir:8081', onFailure: 'log' }, 'onFailure is a string; set a function'],
  [{ address: 'weir:8081', tls: 'yes' }, 'tls is a string; set true, false, or { ca, cert, key } as PEM texts'],
  [{ address: 'weir:8081', tls: { certificate: 'PEM' } }, 'tls has the field "certificate", which nothing reads; use ca, cert, key'],
  [{ address: 'weir:8081', tls: { ca: 1 } }, 'tls.ca is a number; set a PEM text'],
])('createClient(%j) is refused: %s', (options, message) => {
  expect(() => createClient(options as Parameters<typeof createClient>[0])).toThrow(TypeError);
  expect(() => createClient(options as Parameters<typeof createClient>[0])).toThrow(message);
});

test.each<[unknown, string]>([
  [undefined, 'createLimiter takes an object with options, not undefined'],
  [{ rule: 'limits.yaml' }, 'the argument of createLimiter has the field "rule", which nothing reads; did you mean rules?'],
  [{}, "rules is undefined; give the path of a file or a directory, { text: 'domain: …' }, or { documents: [{ domain: … }] }"],
  [{ rules: '' }, 'rules is an empty text; give the path'],
  [{ rules: 7 }, 'rules is a number; give the path'],
  [{ rules: [{ domain: 'shop' }] }, 'rules is a list; give the path'],
  [{ rules: { file: 'limits.yaml' } }, 'rules has the field "file", which nothing reads; use text, documents'],
  [{ rules: { text: 7 } }, 'rules is an object of another form; give the path'],
  [{ rules: { documents: { domain: 'shop' } } }, 'rules is an object of another form; give the path'],
  [{ rules: RULES, store: 'redis' }, "store is invalid; write 'embedded', or { redis: URL }"],
  [{ rules: RULES, store: { url: 'localhost:6379' } }, "store is invalid; write 'embedded', or { redis: URL }"],
  [{ rules: RULES, watch: 'yes' }, 'watch is a string; set true or false'],
  [{ rules: RULES, watch: true }, 'watch is true, but rules is not a path'],
  [{ rules: RULES, log: 'file' }, 'log has no method write'],
  [{ rules: RULES, settings: 'FAILURE_MODE=open' }, 'settings is a string; set an object'],
  [{ rules: RULES, settings: { NEAR_LIMIT_RATIO: 0.8 } }, 'settings.NEAR_LIMIT_RATIO is a number; set a text, as in the environment'],
  [{ rules: RULES, failureMode: 'allow' }, 'failureMode is "allow"; write open or closed'],
])('createLimiter(%j) is refused: %s', async (options, message) => {
  await expect(createLimiter(options as Parameters<typeof createLimiter>[0])).rejects.toThrow(message);
});

test.each<[unknown, string]>([
  [undefined, 'the request is undefined; set an object with domain, descriptors, hitsAddend'],
  [{ domain: 'shop' }, "descriptors is undefined; set a list, such as [{ user: 'zoe' }]"],
  [{ domain: 'shop', descriptor: [] }, 'the request has the field "descriptor", which nothing reads; did you mean descriptors?'],
  [{ ...REQUEST, hits: 2 }, 'the request has the field "hits", which nothing reads; did you mean hitsAddend?'],
  [{ descriptors: [] }, 'domain is undefined; set a text'],
  [{ domain: 'shop', descriptors: { user: 'zoe' } }, 'descriptors is an object; set a list'],
  [{ domain: 'shop', descriptors: ['zoe'] }, 'descriptors[0] is a string; set an object of keys and values'],
  [{ domain: 'shop', descriptors: [[['user', 'zoe']]] }, 'descriptors[0] is a list; set an object of keys and values'],
  [{ domain: 'shop', descriptors: [{ user: 7 }] }, 'descriptors[0] value 1 is a number; set a text'],
  [{ domain: 'shop', descriptors: [{ entries: [['user']] }] }, "descriptors[0].entries[0] is not a pair; set ['key', 'value']"],
  [
    { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'zoe' }] }] },
    "descriptors[0].entries[0] is not a pair; set ['key', 'value']",
  ],
  [{ domain: 'shop', descriptors: [{ entries: null }] }, 'descriptors[0].entries is null; set an object of keys and values, or pairs'],
  [
    { domain: 'shop', descriptors: [{ entries: {}, hits: 1 }] },
    'descriptors[0] has the field "hits", which nothing reads; did you mean hitsAddend?',
  ],
  [{ domain: 'shop', descriptors: [{ entries: {}, hitsAddend: '1' }] }, 'descriptors[0].hitsAddend is a string; set a whole number from'],
  [{ ...REQUEST, hitsAddend: 0 }, `hitsAddend is 0; set a whole number from 1 to ${UINT32_MAX}`],
  [
    { domain: 'shop', descriptors: [{ entries: {}, limit: 5 }] },
    'descriptors[0].limit is a number; set an object with requestsPerUnit, unit',
  ],
  [
    { domain: 'shop', descriptors: [{ entries: {}, limit: { unit: 'day' } }] },
    'descriptors[0].limit.requestsPerUnit is undefined; set a whole',
  ],
  [
    { domain: 'shop', descriptors: [{ entries: {}, limit: { requestsPerUnit: 1, unit: 'fortnight' } }] },
    'descriptors[0].limit.unit is a string; set second, minute, hour, day, month, year, week',
  ],
])('the request %j is refused: %s', (request, message) => {
  expect(() => toWireRequest(request as LimitRequest)).toThrow(expect.objectContaining({ name: 'InvalidRequestError' }) as Error);
  expect(() => toWireRequest(request as LimitRequest)).toThrow(message);
});

test.each<[unknown, string]>([
  [{ timeout: 5 }, 'the second argument of check has the field "timeout", which nothing reads; did you mean timeoutMs?'],
  [{ timeoutMs: 0 }, 'timeoutMs is 0; set a'],
  [{ timeoutMs: '5' }, 'timeoutMs is 5; set a'],
  [{ signal: 'abort' }, 'signal is a string; set an AbortSignal'],
  [5, 'the second argument of check is a number; set { signal, timeoutMs }'],
])('check with the options %j is refused by both limiters: %s', async (options, message) => {
  const client = createClient({ address: '127.0.0.1:1' });
  const limiter = await createLimiter({ rules: RULES });
  for (const each of [client, limiter]) {
    await expect(each.check(REQUEST, options as object)).rejects.toThrow(message);
    await expect(each.wait(REQUEST, { wait: 5 } as never)).rejects.toThrow('the second argument of wait has the field "wait"');
    await expect(each.wait(REQUEST, undefined as never)).rejects.toThrow('the second argument of wait is undefined; set { maxMs, signal');
    await each.close();
  }
});

test('ready refuses wrong options', async () => {
  const client = createClient({ address: '127.0.0.1:1' });
  await expect(client.ready({ timeout: 5 } as object)).rejects.toThrow('the argument of ready has the field "timeout"');
  await expect(client.ready({ timeoutMs: -1 })).rejects.toThrow('timeoutMs is -1; set a whole number from 0 to 3600000');
  await client.close();
});

test.each([
  ['express', forExpress],
  ['fastify', forFastify],
  ['hono', forHono],
  ['koa', forKoa],
] as const)('the middleware for %s refuses wrong options when it is made', (_, rateLimit) => {
  const make = (options: unknown) => () => (rateLimit as (given: unknown) => unknown)(options);
  const valid = { limiter: LIMITER, domain: 'shop', descriptors: () => [] };
  expect(make(valid)).not.toThrow();
  for (const [options, message] of [
    [undefined, 'the middleware takes an object with options, not undefined'],
    [{ ...valid, descriptor: () => [] }, 'has the field "descriptor", which nothing reads; did you mean descriptors?'],
    [{ ...valid, limiter: undefined }, 'limiter is undefined; set what createClient or createLimiter returns'],
    [{ ...valid, limiter: Promise.resolve(LIMITER) }, 'limiter is an object without check; set what createClient or createLimiter returns'],
    [{ ...valid, waitMs: 5 }, 'limiter is an object without wait; set'],
    [{ ...valid, limiter: { ...LIMITER, wait: LIMITER.check }, waitMs: '5' }, 'waitMs is a string; set a number of milliseconds from 0'],
    [{ ...valid, domain: '' }, 'domain is an empty text; set the domain of the rules'],
    [{ ...valid, descriptors: [{ user: 'zoe' }] }, 'descriptors is a list; set a function of the request that returns a list'],
    [{ ...valid, onDenied: true }, 'onDenied is a boolean; set a function'],
    [{ ...valid, hitsAddend: 2 }, 'hitsAddend is a number; set a function'],
  ] as const)
    expect(make(options)).toThrow(message);
});

test.each<[unknown, unknown, string]>([
  [
    { url: '/' },
    {},
    'clientAddress takes a request of node:http; in Fastify request.raw, in Koa context.req, in Hono context.env.incoming',
  ],
  [{ headers: {}, socket: {} }, { trustedHops: -1 }, 'trustedHops is -1; set the number of proxies that append to X-Forwarded-For'],
  [{ headers: {}, socket: {} }, { ipv6PrefixBits: 129 }, 'ipv6PrefixBits is 129; set a whole number from 0 to 128'],
])('clientAddress(%j, %j) is refused: %s', (request, options, message) => {
  expect(() => clientAddress(request as IncomingMessage, options as ClientAddressOptions)).toThrow(message);
});
