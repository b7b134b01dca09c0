/** `weir replay` reads every format, puts lines in order, counts wrong lines, and takes no harm from hostile logs. */

import { gzipSync } from 'node:zlib';
import { ProblemList } from '../../../../src/configuration/problems/problem-list';
import { readTimeUs } from '../../../../src/program/cli/replay/formats/log-time';
import { readMapping } from '../../../../src/program/cli/replay/mapping/read-mapping';
import { readEnvoyMapping } from '../../../../src/program/cli/replay/mapping/envoy-mapping';
import { makeReport } from '../../../../src/program/cli/replay/report/replay-report';
import { runReplay, type LoadedConfiguration } from '../../../../src/program/cli/replay/run/run-replay';
import { ENVOY_FIELDS } from '../../../../src/program/cli/replay/formats/access-log';
import { configurationOf, fileOf, replayOf, type ReplayOfOptions } from '../../../support/replay/replay-of';
import { randomFrom, seededInFull } from '../../../support/random/random';

const CONFIG = `domain: shop
descriptors:
  - {key: merchant, rate_limit: {unit: minute, requests_per_unit: 2, algorithm: fixed_window}}
  - {key: path, rate_limit: {unit: hour, requests_per_unit: 1000, algorithm: fixed_window}}
`;
/** As many requests as could be decompressed. */
const ANY = -1;

const MAP = `domain: shop
descriptors:
  - [{key: merchant, field: merchant}]
  - [{key: path, field: path, match: '^/(v1|v2)/'}]
`;

let configuration: LoadedConfiguration;

beforeAll(async () => {
  configuration = await configurationOf(CONFIG);
});

function replayOne(log: string | Uint8Array, options: Partial<ReplayOfOptions> = {}) {
  return replayOf({ logs: [log], map: MAP, configurations: [configuration], ...options });
}

/** By key: how often it was denied. */
async function denialsOf(log: string, map = MAP): Promise<Record<string, number>> {
  const { denied } = await replayOne(log, { map });
  return Object.fromEntries(denied?.keys.map(({ entries, requests }) => [entries.map(({ value }) => value).join(), requests]) ?? []);
}

describe('times', () => {
  test.each([
    ['2026-11-23T23:59:50Z', '2026-11-23T23:59:50Z', 0],
    ['2026-11-23 23:59:50.123456+01:00', '2026-11-23T22:59:50Z', 123_456],
    ['2026-11-23T23:59:50.1234567891Z', '2026-11-23T23:59:50Z', 123_456],
    ['23/Nov/2026:23:59:50 -0130', '2026-11-24T01:29:50Z', 0],
    ['1795478390', '2026-11-23T23:59:50Z', 0],
    ['1795478390.5', '2026-11-23T23:59:50Z', 500_000],
    ['1795478390500', '2026-11-23T23:59:50Z', 500_000],
    ['1795478390500001', '2026-11-23T23:59:50Z', 500_001],
    ['1795478390500001999', '2026-11-23T23:59:50Z', 500_001],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z', 0],
  ])('%s', (text, second, us) => {
    expect(readTimeUs(text)).toBe(Date.parse(second) * 1_000 + us);
  });

  test.each([
    '',
    'yesterday',
    '2026-11-23T23:59:50',
    '2026-13-01T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-11-23T24:00:00Z',
    '-5',
    '2026-11-23T23:59:50.Z',
    '2026-11-23T23:59:50Zx',
    '99/Nov/2026:00:00:00 +0000',
    '1e9',
    '9999-01-01T00:00:00Z',
  ])('%s is none', (text) => {
    expect(readTimeUs(text)).toBeNaN();
  });

  test('random instants are read as Date reads them', () => {
    const { numRuns, seed } = seededInFull(1_000);
    const random = randomFrom({ seed });
    for (let i = 0; i < numRuns; i += 1) {
      const ms = random(2 ** 31) * 3_000 + random(1_000);
      expect(readTimeUs(new Date(ms).toISOString())).toBe(ms * 1_000);
    }
  });
});

describe('CSV', () => {
  test('fields in quotes have separators, quotes and line feeds in them; other columns may be anywhere', async () => {
    const log = `\uFEFFnote,time,path,merchant\r\n"a,""b""\n c",60,/v1/x,"m,""1"\r\n,61,/v1/x,"m,""1"\r\n"",62,,"m,""1"\r\nlast,63,/v9/,"two\nlines"`;
    expect(await denialsOf(log)).toEqual({ 'm,"1': 1 });
    const { requests, lines_wrong, rules } = await replayOne(log);
    expect({ requests, lines_wrong }).toEqual({ requests: 4, lines_wrong: 0 });
    expect(Object.fromEntries(rules.map((rule) => [rule.rule, [rule.requests, rule.denied, rule.peak]]))).toEqual({
      'shop.merchant': [4, 1, { p50: 1, p99: 3, max: 3 }],
      'shop.path': [2, 0, { p50: 2, p99: 2, max: 2 }],
    });
  });

  test.each([';', '\t'])('columns are separated by %j too', async (mark) => {
    const lines = ['time,path,merchant', '60,/v1/,a', '61,/v1/,a', '62,/v1/,a'].map((line) => line.replaceAll(',', mark));
    expect(await denialsOf(lines.join('\n'))).toEqual({ a: 1 });
  });

  test('a line without any descriptor sends no request', async () => {
    const { requests, lines_without_descriptors: without } = await replayOne('time,path,merchant\n60,/v3/,\n61,/v1/,\n');
    expect({ requests, without }).toEqual({ requests: 1, without: 1 });
  });

  test('a column that the first line does not name is an error that lists the columns', async () => {
    await expect(replayOne('time,path\n60,/v1/\n')).rejects.toThrow(/has no column "merchant"; its first line names time, path$/);
  });

  test('a quote that nothing closes costs its own line', async () => {
    const { requests, lines_wrong, wrong_lines } = await replayOne('time,path,merchant\n60,"/v1/,a\n61,/v1/,b\n62,/v1/,b\n');
    expect({ requests, lines_wrong }).toEqual({ requests: 2, lines_wrong: 1 });
    expect(wrong_lines.map(({ line }) => line)).toEqual([2]);
  });
});

test('JSON has paths into objects, numbers and escapes', async () => {
  const map = `time: at\ndomain: {field: shop.name}\ndescriptors: [[{key: merchant, field: user.id}]]\n`;
  const line = (at: number, id: string) => `{"at":${at},"shop":{"name":"shop"},"user":{"id":${id}}}`;
  const log = [
    line(60, '7'),
    line(61, '"7"'),
    line(62, '7'),
    line(63, '"\\u00fc"'),
    line(64, '"ü"'),
    line(65, '"ü"'),
    line(66, 'null'),
    '[]',
    '7',
    '{',
  ].join('\n');
  expect(await denialsOf(log, map)).toEqual({ '7': 1, ü: 1 });
  expect(await replayOne(log, { map })).toMatchObject({ requests: 6, lines_wrong: 3, lines_without_descriptors: 1 });
});

test('hits are those of a field, and 0 is a check', async () => {
  const map = `${MAP}hits: n\n`;
  const log = 'time,merchant,path,n\n60,a,,2\n61,a,,0\n62,b,,0\n63,b,,\n64,b,,-1\n';
  const { configurations, lines_wrong, rules } = await replayOne(log, { map });
  expect(configurations).toMatchObject([{ admitted: 3, denied: 1 }]);
  expect(lines_wrong).toBe(1);
  expect(rules).toMatchObject([{ rule: 'shop.merchant', requests: 4, denied: 1, peak: { max: 2 } }]);
});

test('access logs that wait for the end of requests begin at the end less the duration', async () => {
  const map = `duration: {field: took, unit: s}\n${MAP}`;
  // In one minute by their ends, in two by their starts.
  const log = 'time,took,merchant,path\n121,2,a,\n122,3.5,a,\n123,0,a,\n';
  expect(await replayOne(log, { map })).toMatchObject({ configurations: [{ denied: 0 }], from: '1970-01-01T00:01:58.500Z' });
});

describe('order', () => {
  test('lines within the window are put in order, others are wrong', async () => {
    const log = 'time,merchant,path\n70,a,\n62,a,\n100,a,\n69,a,\n';
    const { requests, wrong_lines, from } = await replayOne(log);
    expect({ requests, from }).toEqual({ requests: 3, from: '1970-01-01T00:01:02.000Z' });
    expect(wrong_lines).toEqual([
      {
        file: expect.any(String) as string,
        line: 5,
        message: 'is 1.0 s before a line that was replayed; lines wait 10 s for earlier ones (--reorder)',
      },
    ]);
  });

  test('several logs are one by their times', async () => {
    const logs = [
      [60, 63, 66, 9_000],
      [61, 64],
      [62, 65],
    ].map((times) => `time,merchant,path\n${times.map((time) => `${time},a,`).join('\n')}`);
    const { over_time: time, configurations, requests } = await replayOf({ logs, map: MAP, configurations: [configuration], reorderUs: 0 });
    expect({ requests, configurations }).toMatchObject({ requests: 8, configurations: [{ denied: 5 }] });
    expect(time.steps.reduce((sum, step) => sum + step.requests, 0)).toBe(8);
  });

  test('one line of the far future does not make the lines after it late', async () => {
    const log = [
      'time,merchant,path',
      '60,a,',
      '4000000000,a,',
      ...Array.from({ length: 30 }, (_, i) => `${(90 - i * 0.1).toFixed(1)},a${i},`),
    ].join('\n');
    expect(await replayOne(log)).toMatchObject({ requests: 32, lines_wrong: 0 });
  });

  test('random lines are released in order of time', async () => {
    const { numRuns, seed } = seededInFull(50);
    const random = randomFrom({ seed });
    for (let run = 0; run < numRuns; run += 1) {
      const times = Array.from({ length: 200 }, (_, i) => 1_000 + i + random(9));
      const rows = (all: readonly number[]) => ['time,merchant,path', ...all.map((time) => `${time},a,`)].join('\n');
      const sorted = await replayOne(rows([...times].sort((a, b) => a - b)));
      expect(await replayOne(rows(times))).toEqual(sorted);
    }
  });
});

describe('hostile logs end in a count', () => {
  const good = (i: number) => `{"time":${60 + i},"merchant":"a","path":"/v1/"}`;

  test.each<[string, string | Uint8Array, number, number]>([
    ['cut lines', `${good(0)}\n${good(1).slice(0, 20)}\n${good(2)}\n${good(3).slice(5)}`, 2, 2],
    ['NUL bytes', Buffer.from(`${good(0)}\n{"time":61,"merchant":"a\0"}\n\0\0\0\n${good(2)}`), 2, 2],
    [
      'bad UTF-8',
      Buffer.concat([Buffer.from(`${good(0)}\n{"time":61,"merchant":"`), Buffer.from([0xff, 0xc0]), Buffer.from(`"}\n${good(2)}\n`)]),
      2,
      1,
    ],
    ['a line of 3 MB', `${good(0)}\n{"time":61,"merchant":"${'x'.repeat(3_000_000)}"}\n${good(2)}`, 2, 1],
    ['a last line of 3 MB', `${good(0)}\n{"time":61,"merchant":"${'x'.repeat(3_000_000)}`, 1, 1],
    ['a value of 1 MB', `${good(0)}\n{"time":61,"merchant":"${'x'.repeat(1_000_000)}"}\n${good(2)}`, 3, 0],
    ['a bomb in gzip', gzipSync(Buffer.concat([Buffer.from(`${good(0)}\n`), Buffer.alloc(64 * 1024 * 1024)])), 1, 1],
    ['gzip that is cut', gzipSync(Array.from({ length: 1_000 }, (_, i) => good(i)).join('\n')).subarray(0, 200), ANY, 1],
    [
      'times that jump',
      ['60', '-1', '1e99', '"2026-99-99T00:00:00Z"', '{}', '99999999999999999999', '61']
        .map((time) => `{"time":${time},"merchant":"a"}`)
        .join('\n'),
      2,
      5,
    ],
    ['deep JSON', `${good(0)}\n${'['.repeat(100_000)}\n${good(1)}`, 2, 1],
    ['empty lines', `\n\n${good(0)}\r\n\r\n\n${good(1)}\n\n`, 2, 0],
  ])('%s', async (_, log, requests, wrong) => {
    const report = await replayOne(log, { format: 'json', map: MAP });
    expect({ requests: requests === ANY ? ANY : report.requests, wrong: report.lines_wrong }).toEqual({ requests, wrong });
  });

  test.each(['csv', 'json', 'envoy', 'combined', 'decisions'] as const)('random bytes as %s', async (format) => {
    const { numRuns, seed } = seededInFull(20);
    const random = randomFrom({ seed });
    for (let run = 0; run < numRuns; run += 1) {
      const noise = Buffer.from(
        Array.from({ length: 3_000 }, () => [10, 34, 44, 91, 93, 123, 125, random(256), 48 + random(10)][random(9)] ?? 0),
      );
      const log = Buffer.concat([Buffer.from('time,merchant,path\n'), noise]);
      const map =
        format === 'decisions'
          ? {}
          : { map: format === 'csv' || format === 'json' ? MAP : MAP.replace('field: merchant', 'field: user_agent') };
      const report = await replayOf({ logs: [log], configurations: [configuration], format, ...map });
      expect(report.complete).toBe(true);
    }
  });

  test('too many wrong lines end the replay', async () => {
    const log = Array.from({ length: 50_000 }, () => 'x').join('\n');
    const report = await replayOne(log, { format: 'json', errorsMax: 10 });
    expect(report).toMatchObject({ complete: false, ended_early: 'too many wrong lines' });
    expect(report.wrong_lines).toHaveLength(5);
  });
});

test('keys beyond the room are forgotten once their buckets are full, and a live key that must go is counted', async () => {
  const rows = Array.from({ length: 3_000 }, (_, i) => `${60 + i},m${i},\n${60 + i},steady,`);
  const log = `time,merchant,path\n${rows.join('\n')}`;
  const whole = await replayOne(log, { bucketsMax: 100_000 });
  const small = await replayOne(log, { bucketsMax: 200 });
  expect(small.configurations).toEqual(whole.configurations);
  expect(small.rules[0]?.peak).toEqual(whole.rules[0]?.peak);
  expect((await replayOne(log, { bucketsMax: 20 })).configurations[0]?.evictions).toBeGreaterThan(0);
});

test('the suggested limit denies at most the share, and one less denies more', async () => {
  const { seed } = seededInFull(1);
  const random = randomFrom({ seed });
  const log = `time,merchant,path\n${Array.from({ length: 3_000 }, (_, i) => `${(60 + i * 0.1).toFixed(1)},m${Math.floor(Math.sqrt(random(100)))},`).join('\n')}`;
  for (const suggest of [0, 0.001, 0.05]) {
    const { rules } = await replayOne(log, { suggest });
    const limit = rules[0]?.suggested ?? 0;
    const shareUnder = async (requests: number) => {
      const tried = await configurationOf(CONFIG.replace('requests_per_unit: 2', `requests_per_unit: ${requests}`));
      return ((await replayOne(log, { configurations: [tried] })).configurations[0]?.denied ?? 0) / 3_000;
    };
    expect(await shareUnder(limit)).toBeLessThanOrEqual(suggest);
    expect(await shareUnder(limit - 1)).toBeGreaterThan(suggest);
  }
});

test('a mapping with mistakes is refused with their places', () => {
  const list = new ProblemList();
  const text = `format: xml
time: t
descriptrs: []
descriptors:
  - [{key: a}, {key: b, field: f, value: v}, {field: f}]
  - [{key: c, field: f, match: '('}]
`;
  expect(readMapping({ name: 'map.yaml', text }, list)).toBeUndefined();
  expect(list.found().kept.map(({ line, column, path, message }) => `${line}:${column}: ${path} ${message}`)).toEqual([
    '3:1: descriptrs is not a field here; did you mean descriptors?',
    '1:9: format "xml" is not a format; use csv, json, envoy, combined, decisions',
    '1:1: domain is missing; name the domain of the requests',
    '5:6: descriptors[0][0].field is missing; name a field of the log, or give a value',
    '5:42: descriptors[0][1].value cannot be given together with field; leave out one of them',
    '5:46: descriptors[0][2].key is missing; name the key of the entry',
    '6:32: descriptors[1][0].match is not a regular expression: Invalid regular expression: /(/: Unterminated group',
  ]);
});

test('rate limit actions of an Envoy become descriptors, and what the log lacks is named', async () => {
  const text = `
static_resources:
  listeners:
    - filter_chains:
        - filters:
            - typed_config:
                "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
                route_config:
                  virtual_hosts:
                    - domains: ["*"]
                      routes:
                        - match: {prefix: /v1/}
                          route:
                            rate_limits:
                              - actions: [{request_headers: {header_name: "user-agent", descriptor_key: merchant}}]
                              - actions: [{remote_address: {}}]
                              - actions: [{header_value_match: {descriptor_key: path, descriptor_value: get, headers: [{name: ":method", string_match: {exact: GET}}]}}]
                        - match: {prefix: /}
                          route: {rate_limits: [{actions: [{generic_key: {descriptor_key: path, descriptor_value: rest}}]}]}
                http_filters:
                  - typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit, domain: shop}
`;
  const list = new ProblemList();
  const read = readEnvoyMapping({ file: { name: 'envoy.yaml', text }, fields: ENVOY_FIELDS, list });
  expect(list.found().kept).toEqual([]);
  expect(read?.missing).toEqual(['the address of the client']);
  const line = (method: string, path: string, agent: string) =>
    `[2026-11-23T00:00:00.000Z] "${method} ${path} HTTP/1.1" 200 - via_upstream - "-" 0 5 3 2 "-" "${agent}" "id" "a.test" "10.0.0.2:80"`;
  const log = fileOf([line('GET', '/v1/a', 'x'), line('POST', '/v1/a', 'x'), line('GET', '/v2', 'x')].join('\n'));
  const outcome = await runReplay({
    logs: [log],
    configurations: [configuration],
    format: undefined,
    mapping: read?.mapping,
    reorderUs: 0,
    bucketsMax: 1_000,
    errorsMax: 0,
    isInterrupted: () => false,
    onProgress: () => undefined,
  });
  const { rules, requests } = makeReport(outcome, { top: 1 });
  expect({ requests, rules: rules.map(({ rule, requests: count }) => [rule, count]) }).toEqual({
    requests: 3,
    rules: [
      ['shop.merchant', 2],
      ['shop.path', 2],
    ],
  });
});
