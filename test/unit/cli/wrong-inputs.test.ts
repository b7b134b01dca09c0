/** Wrong inputs of files, settings and `/json` get an answer that says what to write. */

import { readStart } from '../../../src/program/app/start/read-start';
import { examineConfig } from '../../../src/configuration/compile/compile';
import { describeMisspelled, misspelledSettings } from '../../../src/configuration/settings/misspelled-settings';
import { checkReferenceSettings } from '../../../src/configuration/settings/check-reference-settings';
import { parseRequest } from '../../../src/server/transport/messages/json';
import { toRequest } from '../../../src/server/transport/messages/request';
import { ConfigError } from '../../../src/configuration/problems/config-error';

/** The errors and warnings of `weir check`, without the file. */
function found(text: string): readonly string[] {
  try {
    const { list } = examineConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'token_bucket', generation: 1 });
    const lines = [...list.found().kept, ...list.warned().kept];
    return lines.map(({ line, column, path, message }) => `${line}:${column} ${path === '' ? '' : `${path}: `}${message}`);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
}

const D = 'domain: shop\ndescriptors:\n';
const one = (fields: string) => `${D}  - { key: user, ${fields} }\n`;
const limit = (fields: string) => one(`rate_limit: { ${fields} }`);
const UNITS = 'second, minute, hour, day, week, month, year';
const AT = 'descriptors[0].rate_limit';

describe('a file of limits', () => {
  test.each<readonly [what: string, text: string, says: readonly string[]]>([
    [
      'a misspelled unit',
      limit('unit: secnod, requests_per_unit: 5'),
      [`3:38 ${AT}.unit: unknown unit "secnod"; did you mean second? use one of ${UNITS}`],
    ],
    [
      'a unit with a number',
      limit('unit: 10s, requests_per_unit: 5'),
      [`3:38 ${AT}.unit: unknown unit "10s"; write unit: second, unit_multiplier: 10`],
    ],
    ['a short unit', limit('unit: m, requests_per_unit: 5'), [`3:38 ${AT}.unit: unknown unit "m"; write unit: minute`]],
    [
      'a number in quotes',
      limit('unit: hour, requests_per_unit: "5"'),
      [`3:63 ${AT}.requests_per_unit: "5" must be a whole number from 0 to 9007199254740991, unquoted`],
    ],
    [
      'a negative number',
      limit('unit: hour, requests_per_unit: -5'),
      [`3:63 ${AT}.requests_per_unit: "-5" must be a whole number from 0 to 9007199254740991, unquoted`],
    ],
    [
      'a negative number beside a burst',
      limit('unit: minute, requests_per_unit: -1, burst: 3'),
      [`3:65 ${AT}.requests_per_unit: "-1" must be a whole number from 0 to 9007199254740991, unquoted`],
    ],
    [
      'a fraction',
      limit('unit: second, requests_per_unit: 0.08'),
      [
        `3:65 ${AT}.requests_per_unit: "0.08" is not a whole number; the same rate is unit: second, unit_multiplier: 25, requests_per_unit: 2`,
      ],
    ],
    [
      'a burst that is a word',
      limit('unit: second, requests_per_unit: 5, burst: many'),
      [`3:75 ${AT}.burst: "many" must be a whole number from 0 to 9007199254740991, unquoted`],
    ],
    [
      'no requests_per_unit',
      limit('unit: hour'),
      [`3:30 ${AT}.requests_per_unit: is missing, which counts as 0: every hit is over the limit`],
    ],
    [
      'a period and a limit',
      limit('period: 60, limit: 10'),
      [`3:32 ${AT}: unknown keys period, limit; write unit: minute, requests_per_unit: 10`],
    ],
    [
      'a period with a unit',
      limit('limit: 10, period: 5m'),
      [`3:32 ${AT}: unknown keys limit, period; write unit: minute, unit_multiplier: 5, requests_per_unit: 10`],
    ],
    [
      'requests per a unit',
      limit('requests: 10, per: hour'),
      [`3:32 ${AT}: unknown keys requests, per; write unit: hour, requests_per_unit: 10`],
    ],
    [
      'a limit and no period',
      limit('limit: 10'),
      [`3:32 ${AT}: unknown key limit; use unit and requests_per_unit for the rate, burst for what passes at once`],
    ],
    ['a rate as text', one('rate_limit: 5/s'), [`3:30 ${AT}: is text; write it as { unit: second, requests_per_unit: 5 }`]],
    ['a tab', `${D}\t- key: user\n`, ['3:1 not valid YAML: Tabs are not allowed as indentation; use spaces']],
    [
      'a key that is indented too little',
      `${D}  - key: user\n   rate_limit: { unit: hour, requests_per_unit: 5 }\n`,
      ['4:1 is indented too little to belong to the item of the list before it: indent it as the keys of that item'],
    ],
    [
      'a key in the column of the dash',
      `${D}  - key: user\n  rate_limit: { unit: hour, requests_per_unit: 5 }\n`,
      ['4:1 is indented differently from the keys before it: all of them must start in the same column'],
    ],
    [
      'a key that is indented too far',
      `${D}  - key: user\n     rate_limit: { unit: hour, requests_per_unit: 5 }\n`,
      [
        '3:10 has a second colon, or the line below it is indented too far: write each key on a line of its own, in the column of the keys beside it',
      ],
    ],
    [
      'a dash that is indented too little',
      `${D}  - key: user\n - key: ann\n`,
      ['4:1 is indented differently from the items of the list before it: all of them must start in the same column'],
    ],
    ['no domain', 'descriptors: []\n', ['1:1 domain: is missing; give it some text']],
    ['a file without content', '', ['1:1 is empty; it must be a map of the keys domain, descriptors']],
    [
      'a regular expression',
      one('value: "^/api/.*$", rate_limit: { unit: second, requests_per_unit: 5 }'),
      ['3:5 descriptors[0].value: "^/api/.*$" looks like a regular expression'],
    ],
    [
      'an address range',
      one('value: 10.0.0.0/8, rate_limit: { unit: second, requests_per_unit: 5 }'),
      ['3:5 descriptors[0].value: "10.0.0.0/8" looks like an address range, but is compared literally; add match: cidr'],
    ],
    [
      'a key twice',
      `${one('rate_limit: { unit: hour, requests_per_unit: 5 }')}  - { key: user }\n`,
      ['4:5 descriptors[1]: key "user" is configured twice here: on line 3 and on line 4; merge them'],
    ],
    [
      'camelCase',
      one('rateLimit: { unit: hour, requests_per_unit: 5 }'),
      ['3:18 descriptors[0].rateLimit: unknown key in a descriptor; did you mean rate_limit?'],
    ],
    ['a map for a list', 'domain: shop\ndescriptors: { key: user }\n', ['2:14 descriptors: must be a list']],
    [
      'a key at the wrong level',
      `${limit('unit: second, requests_per_unit: 5')}rate_limit: { unit: hour }\n`,
      ['4:1 rate_limit: unknown key in the file; it belongs inside a descriptor'],
    ],
    [
      'a plan that does not exist',
      `plans: { free: { rate_limit: { unit: day, requests_per_unit: 5 } } }\n${one('tenant: true, default_plan: fre')}`,
      ['4:46 descriptors[0].default_plan: unknown plan "fre"; did you mean "free"? use one of "free"'],
    ],
    [
      'two limits of one window',
      one('rate_limits: [{ unit: hour, requests_per_unit: 5 }, { unit: hour, requests_per_unit: 9 }]'),
      ['3:70 descriptors[0].rate_limits[1]: uses token_bucket over the same window as the limit on line 3; keep the smaller one'],
    ],
  ])('%s', (_what, text, says) => {
    expect(found(text).map((line, index) => line.slice(0, says[index]?.length))).toEqual(says);
  });
});

const REDIS_MEANT = 'it is set, so a Redis is meant, but no setting says where it is; set';
const IN_MEMORY = 'or BACKEND_TYPE=memory to count in the memory of this process';

type Env = Readonly<Record<string, string>>;

describe('the environment', () => {
  test.each<readonly [Env, string]>([
    [{ PORT: 'http' }, 'PORT: "http" is not accepted; use a port from 0 to 65535 (0: any free one), or leave it unset for "8080"'],
    [{ PORT: '99999' }, 'PORT: "99999" is not accepted; use a port from 0 to 65535'],
    [
      { REDIS_OP_TIMEOUT: '10' },
      'REDIS_OP_TIMEOUT: "10" is not accepted; use a duration from 1ms to 1s, such as 5ms, 100ms or 500ms, or leave it unset for "5ms"',
    ],
    [
      { GRPC_KEEPALIVE_TIMEOUT: '5' },
      'GRPC_KEEPALIVE_TIMEOUT: "5" is not accepted; use a duration from 1s to 1h, such as 10s or 1m30s, or',
    ],
    [{ DRAIN_DELAY: 'soon' }, 'DRAIN_DELAY: "soon" is not accepted; use a duration from 0s to 10m, such as 5ms, 500ms or 1m30s, or'],
    [{ WORKERS: '0' }, 'WORKERS: "0" is not accepted; use a whole number from 1 to 256, or auto'],
    [{ WORKERS: '4' }, 'WORKERS: it is 4, but the embedded store counts in each process separately'],
    [{ BACKEND_TYPE: 'memcache' }, 'BACKEND_TYPE: "memcache" is refused: Weir does not support memcached'],
    [{ LOG_LEVEL: 'verbose' }, 'LOG_LEVEL: "verbose" is not accepted; use trace, debug, info'],
    [{ SHADOW_MODE: 'yes' }, 'SHADOW_MODE: "yes" is not accepted; use true or false'],
    [{ DEFAULT_ALGORITHM: 'token-bucket' }, 'DEFAULT_ALGORITHM: "token-bucket" is not accepted; use '],
    [{ ADMIN_PORT: '8090' }, 'ADMIN_PORT: it is set, but nothing says who may use the admin API; set ADMIN_TOKENS_FILE'],
    [{ ADMIN_PORT: '8081', ADMIN_AUTH: 'off' }, 'ADMIN_PORT: it is port 8081, and so is GRPC_PORT; set one of the two to another port'],
    [{ REDIS_URL: 'tpc://redis:6379' }, 'REDIS_URL: it is not a Redis URL; start it with redis:// or rediss://'],
    [{ REDIS_URL: 'redis' }, 'REDIS_URL: it is neither host:port nor a path; add the port, as in host:6379'],
    [
      { REDIS_HOST: 'redis://redis:6379' },
      'REDIS_HOST: "redis://redis:6379" is not accepted; use the name or address of a host, with a port or without, or set REDIS_URL',
    ],
    [{ REDIS_HOST: 'redis', REDIS_PORT: '0' }, 'REDIS_PORT: "0" is not accepted; use a port from 1 to 65535'],
    [{ REDIS_PORT: '6379' }, `REDIS_PORT: ${REDIS_MEANT} REDIS_URL, ${IN_MEMORY}`],
    [{ REDIS_HOSTNAME: 'redis' }, `REDIS_HOSTNAME: ${REDIS_MEANT} REDIS_URL=redis:6379, ${IN_MEMORY}`],
    [{ REDIS_ADDR: 'redis:7000' }, `REDIS_ADDR: ${REDIS_MEANT} REDIS_URL=redis:7000, ${IN_MEMORY}`],
    [{ REDIS_URI: 'redis://:hunter2@redis' }, `REDIS_URI: ${REDIS_MEANT} REDIS_URL, ${IN_MEMORY}`],
    [{ REDIS_ULR: 'redis:6379' }, `REDIS_ULR: ${REDIS_MEANT} REDIS_URL, ${IN_MEMORY}`],
    [{ REDIS_PASSWORD: 'hunter2' }, `REDIS_PASSWORD: ${REDIS_MEANT} REDIS_URL, ${IN_MEMORY}`],
    [{ REDIS_AUTH: 'hunter2' }, `REDIS_AUTH: ${REDIS_MEANT} REDIS_URL, ${IN_MEMORY}`],
    [{ REDIS_TLS: 'true' }, `REDIS_TLS: ${REDIS_MEANT} REDIS_URL, ${IN_MEMORY}`],
    [
      { REDIS_AUTH_FILE: '/nowhere', REDIS_URL: 'redis:6379' },
      "REDIS_AUTH_FILE: /nowhere can't be read (ENOENT); name a file that holds a password",
    ],
    [{ MEMCACHE_SRV: 'a' }, 'MEMCACHE_SRV: Weir does not support memcached'],
  ])('%j stops the start', async (env, says) => {
    const refusal: unknown = await readStart(env).then(
      () => 'it starts',
      (error: unknown) => (error as Error).message,
    );
    expect(String(refusal).slice(0, says.length)).toBe(says);
    expect(String(refusal)).not.toContain('hunter2');
    expect(String(refusal).split('\n')).toHaveLength(1);
  });

  test.each<readonly [Env, string]>([
    [{ REDIS_HOST: 'redis' }, 'redis://redis:6379/0'],
    [{ REDIS_HOST: 'redis', REDIS_PORT: '7000' }, 'redis://redis:7000/0'],
    [{ REDIS_HOST: 'redis:7001', REDIS_PORT: '7000' }, 'redis://redis:7001/0'],
    [{ REDIS_HOST: 'redis', REDIS_PORT: 'tcp://10.0.0.1:6379' }, 'redis://redis:6379/0'],
    [{ REDIS_HOST: '::1' }, 'redis://[::1]:6379/0'],
    [{ REDIS_HOST: '[::1]:7000' }, 'redis://[::1]:7000/0'],
    [{ REDIS_HOST: 'redis', REDIS_URL: 'other:1' }, 'redis://other:1/0'],
    [{ REDIS_HOST: 'redis', RUNTIME_ROOT: '/data' }, 'redis://redis:6379/0'],
    [{ REDIS_HOST: 'redis', REDIS_TLS: 'true' }, 'rediss://redis:6379/0'],
    [{ REDIS_HOST: 'redis', REDIS_TYPE: 'cluster' }, 'the cluster of redis:6379'],
  ])('%j names a Redis', async (env, address) => {
    expect((await readStart(env)).storeChoice).toMatchObject({ kind: 'redis', connection: { description: address } });
  });

  test.each<Env>([
    {},
    { BACKEND_TYPE: 'memory', REDIS_AUTH: 'a', REDIS_HOSTNAME: 'redis' },
    // Kubernetes sets them beside a service named redis.
    { REDIS_PORT: 'tcp://10.0.0.1:6379', REDIS_SERVICE_HOST: '10.0.0.1', REDIS_PORT_6379_TCP_ADDR: '10.0.0.1' },
    { REDIS_TLS: 'false', REDIS_OP_TIMEOUT: '10ms' },
  ])('%j counts in memory', async (env) => {
    expect((await readStart(env)).storeChoice).toMatchObject({ kind: 'memory' });
  });

  test('names that have no effect are warnings', () => {
    expect(misspelledSettings({ REDIS_OP_TIMOUT: '5ms' }).map(describeMisspelled)).toEqual([
      'REDIS_OP_TIMOUT is not a setting; did you mean REDIS_OP_TIMEOUT?',
    ]);
    expect(checkReferenceSettings({ REDIS_POOL_SIZE: '10' })).toEqual([
      'REDIS_POOL_SIZE has no effect here. One connection carries all calls.',
    ]);
  });
});

const ENTRY = '"descriptors":[{"entries":[{"key":"k","value":"v"}]}]';

test.each<readonly [body: string, says: string]>([
  [
    '',
    'the body is empty; post a RateLimitRequest as JSON, such as {"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}',
  ],
  [
    '{',
    'the body is not JSON in UTF-8; post a RateLimitRequest, such as {"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"ann"}]}]}',
  ],
  ['[]', 'the body must be an object'],
  ['{}', 'rate limit domain must not be empty'],
  ['{"domain":"d"}', 'rate limit descriptor list must not be empty; send at least one'],
  [`{"domain":"d","hits":5,${ENTRY}}`, 'hits is not a known field; did you mean hits_addend?'],
  [`{"domian":"d",${ENTRY}}`, 'domian is not a known field; did you mean domain?'],
  [`{"domain":"d","color":"red",${ENTRY}}`, 'color is not a known field; remove it'],
  [
    `{"domain":"d","hits_addend":-5,${ENTRY}}`,
    'hits_addend must be a whole number from 0 to 4294967295; to give hits back, set is_negative_hits of the descriptor',
  ],
  [`{"domain":"d","hits_addend":1.5,${ENTRY}}`, 'hits_addend must be a whole number from 0 to 4294967295'],
  ['{"domain":"d","descriptors":{"entries":[]}}', 'descriptors must be a list'],
  ['{"domain":"d","descriptors":[{"entries":[{"key":"k","value":5}]}]}', 'descriptors[0].entries[0].value must be a string'],
])('the body %j', (body, says) => {
  expect(() => toRequest(parseRequest(Buffer.from(body)))).toThrow(says);
});
