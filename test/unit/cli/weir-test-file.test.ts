/** A file of tests means what its page says, field by field, and its JSON Schema accepts exactly the files that `weir test` reads. */

import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020';
import { parse } from 'yaml';
import { ProblemList } from '../../../src/configuration/problems/problem-list';
import { readTestFile } from '../../../src/program/cli/test/file/read-test-file';
import type { TestFile, TestRequest } from '../../../src/program/cli/test/file/test-file';
import { renderTestSchema } from '../../../src/program/cli/test/file/test-schema';
import { fencedBlocks } from '../../support/docs/markdown';

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictRequired: false, strictTypes: false, strictTuples: false });
const validate = ajv.compile(JSON.parse(renderTestSchema()) as object);

/** The problems of a text, each with its line. */
function problemsOf(text: string): string[] {
  const list = new ProblemList();
  readTestFile({ name: 'a.test.yaml', text }, list);
  return list.found().kept.map(({ line, path, message }) => `${line}: ${path} ${message}`);
}

function read(text: string): TestFile {
  const list = new ProblemList();
  const file = readTestFile({ name: 'a.test.yaml', text }, list);
  list.throwIfAny();
  return file!;
}

/** A file whose only test has these requests. */
function fileOf(requests: readonly string[], head = ''): string {
  return `configuration: a.yaml\n${head}tests:\n  - name: t\n    requests:\n${requests.map((each) => `      - ${each}\n`).join('')}`;
}

const FIRST = 'domain: d, descriptors: [{a: b}]';

function requestsOf(...requests: readonly string[]): readonly TestRequest[] {
  return read(fileOf(requests)).tests[0]!.requests;
}

/** Keys and values of the first descriptor. */
function entriesOf(descriptor: string): string[] {
  const [request] = requestsOf(`{domain: d, descriptors: [${descriptor}]}`);
  return request!.request.descriptors[0]!.entries.map(({ key, value }) => `${key}=${value}`);
}

/** The request with these fields after a first one. */
const after = (fields: string) => fileOf([`{${FIRST}}`, `{${fields}}`]);

const record = (fields: string) => fileOf([`{${FIRST}}`], `records: [{${fields}}]\n`);

const GOOD: readonly string[] = [
  fileOf([`{${FIRST}}`]),
  'configuration: [a.yaml, b.yaml]\nstart: 2026-03-29T02:30:00+01:00\nrecords: ~\ntests: [{name: 7, start: ~, requests: [{domain: 7, descriptors: [{7: 7}]}]}]',
  ...['0s', '0', '100ms', '1m30s', '1.5h', '2d', '2026-01-02T00:00:00Z', '2026-01-02T01:00:00.000001+01:00', '~'].map((at) =>
    after(`at: ${at}`),
  ),
  ...['hits: 0', 'hits: -1', 'hits: 9007199254740992', 'times: 1000000', 'times: 3, every: 100ms', 'domain: ~, descriptors: ~'].map(after),
  ...[
    '[]',
    '[{}]',
    '[[]]',
    '[[{a: b}, {a: c}]]',
    '[[{key: a, value: b}]]',
    '[{a: 007, b: true, c: 1.0}]',
    '[{entries: x}]',
    '[{entries: {a: b}}]',
    '[{entries: [{a: b}, {a: c}], limit: 20/minute, hits: -3}]',
    '[{entries: {a: b}, limit: 20/5minute}]',
  ].map((descriptors) => after(`descriptors: ${descriptors}`)),
  ...[
    'OK',
    'OVER_LIMIT',
    'NOT_FOUND',
    '~',
    '{}',
    '{code: OK, remaining: 3, reset: 60s, rule: d.a, limit: 100/minute}',
    '{candidate: OVER_LIMIT, rule: none, limit: 7}',
    '{retry_after: never}',
    '{retry_after: 1500ms}',
    '{headers: {RateLimit-Limit: 0, X: ~, Y: "a"}}',
    '{status: [OK, {}, {code: OVER_LIMIT, remaining: 0}]}',
    '{statuses: [OK]}',
    '{status: ~, statuses: []}',
    '{admitted: 1, denied: 0}',
    '{granted: 3, state: held, cut: 0, late: false, unknown: true, repeated: false}',
  ].map((expect) => after(`expect: ${expect}`)),
  ...['reserve: r, hits: 3, ttl: 30s', 'reserve: 7, hits: 0', 'commit: r, hits: 0', 'release: r', 'extend: r', 'extend: r, ttl: 1h'].map(
    after,
  ),
  after('reserve: r, hits: 1, commit: ~'),
  ...[
    'kind: tenant, tenant: 007, plan: gold, until: 2026-01-01T00:00:01.123456789Z, domain: d',
    'kind: plan, plan: gold, limits: [{requests_per_unit: 7, unit: minute, unit_multiplier: 5, burst: 0, name: 7}]',
    'kind: override, id: 7, entries: [{key: 7, value: 8080}, {key: b}], limit: {requests_per_unit: 0, unit: day}, candidate: true',
    'kind: override, id: a.b-c, entries: [{key: a}], limit: {requests_per_unit: 1, unit: second}, candidate: false, reason: 5, author: x',
    'kind: block, id: b, entries: [{key: a, value: ~}], created_at: 2026-01-01T00:00:00Z',
    'kind: pass, id: p, entries: [{key: a, value: true}], domain: ~',
  ].map(record),
];

const BAD: readonly (readonly [text: string, problem: string])[] = [
  ['tests: []', '1: configuration is missing'],
  ['configuration: [~]\ntests: ~', '1: configuration[0] must be a text'],
  [fileOf([]), '3: tests[0].requests is missing'],
  [fileOf(['{domain: d}']), '5: tests[0].requests[0].descriptors is missing'],
  [fileOf(['{descriptors: [{a: b}]}']), '5: tests[0].requests[0].domain is missing'],
  [fileOf([`{${FIRST}}`], 'start: 2026-11-23T23:59:50\n'), '2: start must be an instant with a zone'],
  [fileOf([`{${FIRST}}`], 'start: yesterday\n'), '2: start must be an instant with a zone'],
  [fileOf([`{${FIRST}}`], 'strat: 2026-11-23T23:59:50Z\n'), '2: strat is not a field here; did you mean start?'],
  ...(
    [
      ['at: 5', 'at must be a duration'],
      ['at: 5 s', 'at must be a duration'],
      ['at: -5s', 'at must be a duration'],
      ['at: [0s]', 'at must be a text'],
      ['every: 2026-01-01T00:00:00Z', 'every must be a duration'],
      ['times: 0', 'times must be a whole number from 1 to 1000000'],
      ['times: 1000001', 'times must be a whole number from 1 to 1000000'],
      ['times: "3"', 'times must be a whole number'],
      ['times: 1.5', 'times must be a whole number'],
      ['hits: many', 'hits must be a whole number'],
      ['hits: 9007199254740994', 'hits must be a whole number'],
      ['domain: [d]', 'domain must be a text'],
      ['descriptors: {a: b}', 'descriptors must be a list'],
      ['descriptors: [a]', 'descriptors[0] must be a map of keys and values'],
      ['descriptors: [{a: ~}]', 'descriptors[0].a must be a text; write "" for an empty one'],
      ['descriptors: [{a: {b: c}}]', 'descriptors[0].a must be a text'],
      ['descriptors: [[[{a: b}]]]', 'descriptors[0][0] must be a map'],
      ['descriptors: [{entries: {a: b}, limit: 20/fortnight}]', 'descriptors[0].limit must be a limit such as 20/minute'],
      ['descriptors: [{entries: {a: b}, limit: 20/0minute}]', 'descriptors[0].limit must be a limit such as 20/minute'],
      ['descriptors: [{entries: {a: b}, hit: 3}]', 'descriptors[0].hit is not a field here; did you mean hits?'],
      ['expect: ok', 'expect "ok" is not a code'],
      ['expect: [OK]', 'expect must be a map'],
      ['expect: {code: ok}', 'expect.code "ok" is not a code'],
      ['expect: {remaining: -1}', 'expect.remaining must be a whole number'],
      ['expect: {reset: 60}', 'expect.reset must be a duration'],
      ['expect: {retry_after: ever}', 'expect.retry_after must be a duration'],
      ['expect: {headers: [a]}', 'expect.headers must be a map'],
      ['expect: {headers: {a: [b]}}', 'expect.headers.a must be a text'],
      ['expect: {status: OK}', 'expect.status must be a list'],
      ['expect: {status: [NOT_FOUND]}', 'expect.status[0] "NOT_FOUND" is not a code'],
      ['expect: {statuses: [~]}', 'expect.statuses[0] must be a text'],
      ['expect: {statuses: [OK], status: [OK]}', 'expect.statuses repeats status'],
      ['expect: {candidate: no}', 'expect.candidate must be OK or OVER_LIMIT'],
      ['expect: {state: gone}', 'expect.state must be held, committed, released or lapsed'],
      ['expect: {late: "true"}', 'expect.late must be true or false'],
      ['expect: {admited: 3}', 'expect.admited is not a field here; did you mean admitted?'],
      ['reserve: r', 'hits is missing; reserve needs it'],
      ['commit: r', 'hits is missing; commit needs it'],
      ['commit: r, hits: -1', 'hits must not be negative for commit'],
      ['release: r, hits: 1', 'hits does not belong to release'],
      ['extend: r, hits: 1', 'hits does not belong to extend'],
      ['commit: r, hits: 1, ttl: 1s', 'ttl belongs to reserve or extend'],
      ['ttl: 1s', 'ttl belongs to reserve or extend'],
      ['reserve: r, hits: 1, commit: r', 'commit stands beside reserve'],
      ['reserve: [r], hits: 1', 'reserve must be a text'],
    ] as const
  ).map(([fields, problem]) => [after(fields), `6: tests[0].requests[1].${problem}`] as const),
  ...(
    [
      ['kind: tenant', 'tenant must be a text'],
      ['kind: rule', 'kind must be one of tenant, plan, override, block, pass'],
      ['tenant: a, plan: b', 'kind must be one of'],
      ['kind: tenant, tenant: "", plan: b', 'tenant must not be empty'],
      ['kind: tenant, tenant: a, plan: b, id: c', 'id is an unknown field'],
      ['kind: tenant, tenant: a, plan: b, until: tomorrow', 'until must be a time'],
      ['kind: plan, plan: a, limits: []', 'limits must be a list of 1 to 16 items'],
      ['kind: plan, plan: a, limits: [{requests_per_unit: "7", unit: minute}]', 'limits[0].requests_per_unit must be a whole number'],
      ['kind: block, id: "a b", entries: [{key: a}]', 'id may have only letters'],
      ['kind: block, id: b, entries: [{value: a}]', 'entries[0].key must be a text'],
      ['kind: pass, id: b, entries: [{key: a}], limit: {requests_per_unit: 1, unit: day}', 'limit is an unknown field'],
      ['kind: override, id: b, entries: [{key: a}], limit: {requests_per_unit: 1, unit: age}', 'limit.unit must be one of'],
      [
        'kind: override, id: b, entries: [{key: a}], limit: {requests_per_unit: 1, unit: day}, candidate: 1',
        'candidate must be true or false',
      ],
    ] as const
  ).map(([fields, problem]) => [record(fields), `2: records[0].${problem}`] as const),
];

/** Mistakes that a schema cannot see: they lie between fields, or in numbers that JSON writes alike. */
const UNSEEN: readonly (readonly [text: string, problem: string])[] = [
  [fileOf([`{at: 10s, ${FIRST}}`, '{at: 5s}']), '6: tests[0].requests[1].at is before the request above it'],
  [fileOf([`{times: 3, every: 1s, ${FIRST}}`, '{at: 1s}']), '6: tests[0].requests[1].at is before the request above it'],
  [fileOf([`{at: 2025-12-31T23:59:59Z, ${FIRST}}`]), '5: tests[0].requests[0].at is before the start'],
  [fileOf([`{at: 2026-02-30T00:00:00Z, ${FIRST}}`]), '5: tests[0].requests[0].at must be a duration since the start'],
  [fileOf([`{at: 60000d, ${FIRST}}`]), '5: tests[0].requests[0].at ends after 2150-01-01T00:00:00.000Z'],
  [fileOf([`{times: 3, ${FIRST}, expect: {admitted: 4}}`]), '5: tests[0].requests[0].expect.admitted must be a whole number from 0 to 3'],
  [
    fileOf(['{domain: d, descriptors: [{entries: {a: b}, hits: 3}], reserve: r, hits: 1}']),
    '5: tests[0].requests[0].descriptors must not have hits',
  ],
  [
    fileOf(['{domain: d, descriptors: [{entries: {a: b}, limit: 4294967296/day}]}']),
    '5: tests[0].requests[0].descriptors[0].limit must be a limit',
  ],
  [fileOf(Array.from({ length: 11 }, () => `{${FIRST}, times: 1000000}`)), '1: tests have 11000000 requests'],
  [fileOf([`{${FIRST}, times: 0x10}`]), '5: tests[0].requests[0].times must be a whole number'],
];

test.each(GOOD.map((text) => ({ text })))('this is a file of tests, for the reader and the schema: $text', ({ text }) => {
  expect(problemsOf(text)).toEqual([]);
  if (!validate(parse(text))) throw new Error(ajv.errorsText(validate.errors));
});

test.each(BAD.map(([text, problem]) => ({ text, problem })))('the reader and the schema refuse $text', ({ text, problem }) => {
  expect(problemsOf(text).find((each) => each.startsWith(problem)) ?? problemsOf(text)).toContain(problem);
  expect(validate(parse(text))).toBe(false);
});

test.each(UNSEEN.map(([text, problem]) => ({ text, problem })))(
  'the reader refuses what a schema cannot see: $text',
  ({ text, problem }) => {
    expect(problemsOf(text).find((each) => each.startsWith(problem)) ?? problemsOf(text)).toContain(problem);
    expect(validate(parse(text))).toBe(true);
  },
);

test('docs/generated/weir-test.schema.json is the schema, and the examples of the page are valid', () => {
  expect(readFileSync('docs/generated/weir-test.schema.json', 'utf8')).toBe(renderTestSchema());
  const examples = fencedBlocks('docs/configuration-tests.md', 'yaml').filter((text) => text.startsWith('configuration:'));
  expect(examples.length).toBeGreaterThan(0);
  for (const text of examples) expect({ problems: problemsOf(text), valid: validate(parse(text)) }).toEqual({ problems: [], valid: true });
});

test('entries keep the order of their lines, repeated keys, and the text of YAML', () => {
  expect(entriesOf('{b: x, "10": y, "1": z, a: w}')).toEqual(['b=x', '10=y', '1=z', 'a=w']);
  // An anchor makes the whole file go through the other reader of YAML.
  expect(entriesOf('{b: &anchor x, 10: y, 1: z, a: w}')).toEqual(['b=x', '10=y', '1=z', 'a=w']);
  expect(entriesOf('[{a: b}, {a: c, "1": d}, {key: e, value: f}]')).toEqual(['a=b', 'a=c', '1=d', 'e=f']);
  expect(entriesOf('{key: e, value: f}')).toEqual(['key=e', 'value=f']);
  expect(entriesOf('{port: 8080, flag: true, zeros: 007, hex: 0x10, float: 1.50, yes: yes, empty: ""}')).toEqual([
    'port=8080',
    'flag=true',
    'zeros=007',
    'hex=0x10',
    'float=1.50',
    'yes=yes',
    'empty=',
  ]);
  expect(entriesOf('{entries: [{a: b}], limit: 20/5minute}')).toEqual(['a=b']);
  expect(Buffer.from(entriesOf('{ä: 日本}')[0]!, 'latin1').toString()).toBe('ä=日本');
});

test('a request repeats domain and descriptors of the one before, and starts when that one has ended', () => {
  const startUs = Date.UTC(2026, 0, 1) * 1000;
  const [first, second, third, fourth] = requestsOf(
    `{at: 1s, ${FIRST}, times: 3, every: 100ms}`,
    '{}',
    '{descriptors: [{c: d}], hits: 0}',
    '{at: 2026-01-01T01:00:02+01:00, domain: e, hits: -2}',
  );
  expect([first, second, third, fourth].map((each) => each!.atUs - startUs)).toEqual([1e6, 1.2e6, 1.2e6, 2e6]);
  expect(second!.request).toEqual({ domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'b' }] }], hits: 1 });
  expect(third!.request).toEqual({ domain: 'd', descriptors: [{ hits: 0, entries: [{ key: 'c', value: 'd' }] }], hits: 1 });
  expect(fourth!.request).toEqual({ domain: 'e', descriptors: [{ hits: -2, entries: [{ key: 'c', value: 'd' }] }], hits: 1 });
});

test('records are read as weir set writes them, whatever their texts look like', () => {
  const { records } = read(
    fileOf(
      [`{${FIRST}}`],
      `records:
  - {kind: tenant, tenant: 007, plan: true, until: 2026-01-01T00:01:00+01:00}
  - {kind: override, domain: d, id: 7, entries: [{key: port, value: 8080}], limit: {requests_per_unit: 5, unit: minute, name: 5}, candidate: true}
`,
    ),
  );
  expect(records.map(({ record: each, line }) => [line, each])).toEqual([
    [3, { kind: 'tenant', tenant: '007', plan: 'true', untilMs: Date.UTC(2025, 11, 31, 23, 1) }],
    [
      4,
      {
        kind: 'override',
        domain: 'd',
        id: '7',
        entries: [{ key: 'port', value: '8080' }],
        limit: { requestsPerUnit: 5, unit: 'minute', name: '5' },
        candidate: true,
      },
    ],
  ]);
});

test('YAML bombs, deep nesting and bytes outside of YAML end in a problem with its line', () => {
  const bomb = Array.from(
    { length: 12 },
    (_, i) => `x${i}: &x${i} [${i === 0 ? 'a' : Array.from({ length: 10 }, () => `*x${i - 1}`).join(', ')}]\n`,
  );
  expect(problemsOf(bomb.join('')).some((each) => each.includes('aliases repeat over 1000000 nodes'))).toBe(true);
  expect(problemsOf(`tests: ${'['.repeat(100_000)}`)[0]).toMatch(/nested more than 256 deep/);
  expect(problemsOf('a: \u0000')[0]).toMatch(/^1: /);
  expect(problemsOf('[}')[0]).toMatch(/^1: /);
});
