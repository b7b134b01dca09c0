/** `weir test` passes answers that agree with a test file, fails all others with their line, and refuses a wrong file. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ProblemList } from '../../../src/configuration/problems/problem-list';
import { readConfiguration } from '../../../src/program/cli/configuration';
import { readTestFile } from '../../../src/program/cli/test/file/read-test-file';
import { runTestFile, type FileResult } from '../../../src/program/cli/test/run-test-file';
import { REPORT_FORMATS } from '../../../src/program/cli/test/test-report';
import { durationText, readDurationUs, readInstantUs } from '../../../src/program/cli/test/file/virtual-time';

const PAYMENTS = `
domain: payments
descriptors:
  - key: path
    value: /payment
    descriptors:
      - key: client
        rate_limit: {unit: minute, requests_per_unit: 1, algorithm: token_bucket, burst: 3}
  - key: day
    rate_limit: {unit: day, requests_per_unit: 2, calendar: true}
  - key: unreached
    rate_limit: {unit: day, requests_per_unit: 2, name: spare}
`;

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-test-command-'));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

const FOLDER = folderOf({ 'payments.yaml': PAYMENTS });

/** The text below `configuration:` and `start:`. */
async function run(rest: string, env: Readonly<Record<string, string>> = {}): Promise<FileResult> {
  const text = `configuration: payments.yaml\nstart: 2026-11-23T23:59:50Z\n${rest}`;
  const list = new ProblemList();
  const file = readTestFile({ name: path.join(FOLDER, 'payments.test.yaml'), text }, list);
  list.throwIfAny();
  if (file === undefined) throw new Error('a file without problems that was not read');
  return runTestFile(file, env);
}

function problemsOf(text: string): string[] {
  const list = new ProblemList();
  expect(readTestFile({ name: 'a.test.yaml', text }, list)).toBeUndefined();
  return list.found().kept.map(({ line, path: field, message }) => `${line}: ${field} ${message}`);
}

const CLIENT = 'domain: payments, descriptors: [{path: /payment, client: 10.0.0.7}]';

test('requests that are answered as expected pass, and rules that none reached are named', async () => {
  const { tests, untested, rules } = await run(`tests:
  - name: three payments at once, then one a minute
    requests:
      - {at: 0s, ${CLIENT}, times: 3, expect: OK}
      - {at: 0s, descriptors: [{path: /payment, client: 10.0.0.7}], expect: {code: OVER_LIMIT, rule: payments.path_/payment.client, retry_after: 60s, limit: 1/minute, remaining: 0}}
      - {at: 60s, expect: {code: OK, remaining: 0, reset: 180s}}
  - name: each test begins with full buckets
    requests:
      - {${CLIENT}, times: 10, every: 100ms, expect: {admitted: 3, denied: 7}}
`);
  expect(tests.map(({ name, requests, failure }) => ({ name, requests, failure }))).toEqual([
    { name: 'three payments at once, then one a minute', requests: 5, failure: undefined },
    { name: 'each test begins with full buckets', requests: 10, failure: undefined },
  ]);
  expect({ untested, rules }).toEqual({ untested: ['payments.day', 'payments.unreached'], rules: 3 });
});

test('calendar windows end at the instant of the virtual time', async () => {
  const { tests } = await run(`tests:
  - name: two a day
    requests:
      - {domain: payments, descriptors: [{day: x}], times: 3, expect: {admitted: 2, denied: 1}}
      - {at: 2026-11-24T00:00:00Z, expect: {code: OK, remaining: 1}}
`);
  expect(tests.map(({ failure }) => failure)).toEqual([undefined]);
});

test('checks charge nothing, several hits are charged at once, and a descriptor brings its own limit', async () => {
  const { tests } = await run(`tests:
  - name: hits
    requests:
      - {${CLIENT}, hits: 0, times: 5, expect: {code: OK, remaining: 3}}
      - {hits: 3, expect: {code: OK, remaining: 0}}
      - {descriptors: [{entries: {path: /other}, limit: 20/minute}], expect: {limit: 20/minute, remaining: 19}}
      - {descriptors: [{path: /payment, client: a}, {nothing: here}], expect: {statuses: [{code: OK, remaining: 2}, OK]}}
`);
  expect(tests.map(({ failure }) => failure)).toEqual([undefined]);
});

test('records of control data and headers are in force', async () => {
  const { tests } = await run(
    `records:
  - {kind: override, id: vip, entries: [{key: path, value: /payment}, {key: client, value: vip}], limit: {requests_per_unit: 5, unit: minute, burst: 5}}
  - {kind: block, id: bad, entries: [{key: client, value: bad}]}
tests:
  - name: an override and a block
    requests:
      - {domain: payments, descriptors: [{path: /payment, client: vip}], times: 7, expect: {admitted: 5, denied: 2}}
      - {descriptors: [{path: /payment, client: bad}], expect: {code: OVER_LIMIT, headers: {RateLimit-Limit: "0", X-Other: ~}}}
`,
    { LIMIT_RESPONSE_HEADERS_ENABLED: 'true' },
  );
  expect(tests.map(({ failure }) => failure?.differences)).toEqual([undefined]);
});

test('a failure has its line, the repetition, the request, every difference, and the explanation, in each format', async () => {
  const { tests, untested, rules } = await run(`tests:
  - name: too <optimistic>
    requests:
      - {${CLIENT}, times: 4, expect: {code: OK, retry_after: 5s}}
`);
  expect(tests[0]).toMatchObject({ name: 'too <optimistic>', line: 4 });
  expect(tests[0]?.failure).toMatchObject({
    line: 6,
    repetition: 1,
    request: 'payments (path=/payment, client=10.0.0.7)',
    differences: [{ field: 'retry_after', expected: '5s', actual: 'none' }],
  });
  expect(tests[0]?.failure?.explanation).toContain('limit: 1 per minute, token_bucket, 3 at once');
  const report = { tests, coverage: [{ untested, rules }] };
  expect(REPORT_FORMATS.text(report)).toContain('payments.test.yaml:6, repetition 1: payments (path=/payment, client=10.0.0.7)');
  expect(REPORT_FORMATS.tap(report)).toMatch(/^TAP version 14\n1\.\.1\nnot ok 1 - too <optimistic>\n/);
  expect(REPORT_FORMATS.junit(report)).toContain('<testcase name="too &lt;optimistic&gt;"');
  expect(JSON.parse(REPORT_FORMATS.json(report))).toMatchObject({ passed: 0, failed: 1, tests: [{ failure: { line: 6 } }] });
});

test('each wrong field of a file is reported with its line', () => {
  expect(
    problemsOf(`start: yesterday
tests:
  - name: a
    requests:
      - {at: 5, expekt: OK, expect: MAYBE, times: 0}
      - {at: 10s, domain: d, descriptors: [{a: b}]}
      - {at: 5s, descriptors: [c]}
records: [{kind: tenant}]
`),
  ).toEqual([
    '1: configuration is missing; name the file or the directory that is tested, relative to this file',
    '1: start must be an instant with a zone, such as 2026-11-23T23:59:50Z',
    '8: records[0].tenant must be a text',
    '5: tests[0].requests[0].expekt is not a field here; did you mean expect?',
    '5: tests[0].requests[0].times must be a whole number from 1 to 1000000',
    '5: tests[0].requests[0].at must be a duration since the start, such as 60s, or an instant, such as 2026-11-23T23:59:50Z',
    '5: tests[0].requests[0].domain is missing; the first request of a test needs it',
    '5: tests[0].requests[0].descriptors is missing; the first request of a test needs it',
    '5: tests[0].requests[0].expect "MAYBE" is not a code; use OK, OVER_LIMIT, INVALID_ARGUMENT or NOT_FOUND',
    '7: tests[0].requests[2].at is before the request above it; write the requests in the order of their times',
    '7: tests[0].requests[2].descriptors[0] must be a map of keys and values, such as {path: /payment}',
  ]);
});

test('durations and instants are exact to the microsecond', () => {
  expect([readDurationUs('1m30s'), readDurationUs('100ms'), readDurationUs('0.5s'), readDurationUs('5')]).toEqual([
    90e6,
    1e5,
    5e5,
    undefined,
  ]);
  expect(readInstantUs('2026-11-23T23:59:50.000001Z')).toBe(Date.UTC(2026, 10, 23, 23, 59, 50) * 1000 + 1);
  expect([readInstantUs('2026-11-24T00:59:50+01:00'), readInstantUs('2026-11-23')]).toEqual([
    Date.UTC(2026, 10, 23, 23, 59, 50) * 1000,
    undefined,
  ]);
  expect([durationText(90e6), durationText(1500), durationText(1e5)]).toEqual(['90s', '1500us', '100ms']);
});

test('a directory of configurations may hold files of tests, and loads none of them', async () => {
  const folder = folderOf({ 'payments.yaml': PAYMENTS, 'payments.test.yaml': 'configuration: payments.yaml\ntests: []\n' });
  const { options } = await readConfiguration({ path: folder, env: {}, mergesDomains: false });
  expect(options.files.map((file) => path.basename(file.name))).toEqual(['payments.yaml']);
});
