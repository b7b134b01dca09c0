/** `/check` makes exactly the configured descriptors of a request, and a missing value becomes `anonymous`. */

import { BadRequestError } from '../../../../../src/lib/errors';
import { descriptorPlans } from '../../../../../src/configuration/settings/table/descriptor-plans';
import { compileCheck, type Check, type CheckPlan } from '../../../../../src/server/transport/http/check/check-request';

interface Asked {
  readonly descriptors: string;
  readonly options?: Partial<CheckPlan>;
  readonly target?: string;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
}

function ask({ descriptors, options = {}, target = '/check', headers = [] }: Asked): Check {
  const parsed = descriptorPlans().parse(descriptors);
  if (parsed === undefined || !('value' in parsed)) throw new Error(JSON.stringify(parsed));
  return compileCheck({ domain: 'shop', descriptors: parsed.value, trustedHops: 0, ...options })(target, headers);
}

/** `key=value,key=value` of each descriptor. */
function entriesOf(asked: Asked): readonly string[] {
  const { received } = ask(asked);
  if (received instanceof BadRequestError) throw received;
  return received.descriptors.map(({ entries }) => entries.map(({ key, value }) => `${key}=${value}`).join(','));
}

const ALL = 'a=path,b=method,c=host,d=client_ip; e=header:X-Tenant; f=query:route; g=text:checkout v1';

test('every source gives the value of its header, parameter or text', () => {
  const headers = [
    ...['X-Forwarded-Uri', '//pay%6dent?x=1', 'x-forwarded-method', 'post', 'X-FORWARDED-HOST', 'Shop.Example.:8443'],
    ...['X-Forwarded-For', '10.0.0.1, 192.0.2.7', 'x-tenant', 'gold'],
  ];
  expect(entriesOf({ descriptors: ALL, target: '/check?route=login', headers })).toEqual([
    'a=/payment,b=POST,c=shop.example,d=192.0.2.7',
    'e=gold',
    'f=login',
    'g=checkout v1',
  ]);
});

test('a source that the request has nothing for has the value after the bar, or anonymous', () => {
  expect(entriesOf({ descriptors: 'a=path,b=method|GET,c=host,d=client_ip|nowhere; e=header:x-tenant; f=query:route|other' })).toEqual([
    'a=anonymous,b=GET,c=anonymous,d=nowhere',
    'e=anonymous',
    'f=other',
  ]);
});

test.each([
  ['empty', ['x-tenant', '']],
  ['repeated', ['x-tenant', 'gold', 'X-Tenant', 'silver']],
  ['repeated with the same value', ['x-tenant', 'gold', 'x-tenant', 'gold']],
])('a header that is %s counts as absent', (_name, headers) => {
  expect(entriesOf({ descriptors: 'tenant=header:x-tenant', headers })).toEqual(['tenant=anonymous']);
});

test('headers with a similar name count for nothing', () => {
  const headers = ['x_tenant', 'gold', 'x-tenant-id', 'gold', 'tenant', 'gold'];
  expect(entriesOf({ descriptors: 'tenant=header:x-tenant', headers })).toEqual(['tenant=anonymous']);
});

test('several lines of X-Forwarded-For are one list in their order', () => {
  const headers = ['x-forwarded-for', '10.1.1.1', 'X-Forwarded-For', '192.0.2.7, 198.51.100.1'];
  expect(entriesOf({ descriptors: 'client=client_ip', headers })).toEqual(['client=198.51.100.1']);
  expect(entriesOf({ descriptors: 'client=client_ip', options: { trustedHops: 1 }, headers })).toEqual(['client=192.0.2.7']);
});

test('bytes of a header stay as they are', () => {
  expect(entriesOf({ descriptors: 'café=header:x-tenant', headers: ['x-tenant', 'caf\xc3\xa9'] })).toEqual(['caf\xc3\xa9=caf\xc3\xa9']);
});

test('a source in several descriptors has the same value in each', () => {
  const headers = ['x-forwarded-uri', '/a//b'];
  expect(entriesOf({ descriptors: 'path=path; path=path,client=client_ip', headers })).toEqual(['path=/a/b', 'path=/a/b,client=anonymous']);
});

test.each([
  ['/check', 429],
  ['/check?deny=403', 403],
  ['/check?deny=503', 503],
])('a denial of %s has the status %i', (target, status) => {
  expect(ask({ descriptors: 'client=client_ip', target }).denyStatus).toBe(status);
});

test.each([
  ['/check?deny=200', 'deny must be an HTTP status from 400 to 599'],
  ['/check?deny=4o3', 'deny must be an HTTP status from 400 to 599'],
  ['/check?deny=403&deny=429', 'a parameter of /check is given twice; remove one'],
  ['/check?route=a&route=b', 'a parameter of /check is given twice; remove one'],
  ['/check?client=secret', '/check has a parameter that no descriptor reads; the parameters are deny, route'],
])('%s is an error, which repeats no value', (target, message) => {
  const { received } = ask({ descriptors: 'route=query:route', target });
  expect(received).toEqual(new BadRequestError(message));
});

test('a query is read once, and other queries do not mix with it', () => {
  const parsed = descriptorPlans().parse('route=query:route');
  if (parsed === undefined || !('value' in parsed)) throw new Error('not parsed');
  const read = compileCheck({ domain: 'shop', descriptors: parsed.value, trustedHops: 0 });
  for (let round = 0; round < 2; round += 1) {
    for (let n = 0; n < 200; n += 1)
      expect(read(`/check?route=r${n}`, []).received).toMatchObject({ descriptors: [{ entries: [{ key: 'route', value: `r${n}` }] }] });
  }
});

describe('hits', () => {
  const hitsOf = (headers: readonly string[]) =>
    ask({ descriptors: 'client=client_ip', options: { hitsHeader: 'x-cost' }, headers }).received;

  test.each([
    [[], { hits: 1 }],
    [['x-cost', ''], { hits: 1 }],
    [['X-Cost', '25'], { hits: 25, saysHits: true }],
    [['x-cost', '9007199254740991'], { hits: Number.MAX_SAFE_INTEGER, saysHits: true }],
  ])('%j are %j', (headers, hits) => {
    expect(hitsOf(headers)).toEqual({ domain: 'shop', descriptors: [{ entries: [{ key: 'client', value: 'anonymous' }] }], ...hits });
  });

  test('0 hits only ask', () => {
    expect(hitsOf(['x-cost', '0'])).toEqual({
      domain: 'shop',
      descriptors: [{ entries: [{ key: 'client', value: 'anonymous' }], hits: 0 }],
      hits: 1,
    });
  });

  test.each([
    [['x-cost', '-1']],
    [['x-cost', '1.5']],
    [['x-cost', 'ten']],
    [['x-cost', '9007199254740992']],
    [['x-cost', '1', 'x-cost', '1']],
  ])('%j is an error', (headers) => {
    expect(hitsOf(headers)).toEqual(
      new BadRequestError('the header x-cost (CHECK_HITS_HEADER) must be one whole number from 0 to 9007199254740991'),
    );
  });

  test('without CHECK_HITS_HEADER no header changes the hits', () => {
    expect(ask({ descriptors: 'client=client_ip', headers: ['x-cost', '0'] }).received).toMatchObject({ hits: 1 });
  });
});
