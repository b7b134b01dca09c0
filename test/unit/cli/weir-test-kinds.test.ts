/** `weir test` decides requests in flight, usage reports, reservations and candidates as a server does, at the instant that a test names. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ProblemList } from '../../../src/configuration/problems/problem-list';
import { readTestFile } from '../../../src/program/cli/test/file/read-test-file';
import { runTestFile } from '../../../src/program/cli/test/run-test-file';

const API = `
domain: api
descriptors:
  - key: tenant
    descriptors:
      - key: request_id
        in_flight: {max: 2, hold: 60s, id: request_id}
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 1000, overdraft: true, overdraft_max: 500}
  - key: held
    rate_limit: {unit: hour, requests_per_unit: 1000, algorithm: fixed_window, overdraft: true, overdraft_max: 100, reservations: {max_share: 1}}
  - key: tried
    rate_limit: {unit: minute, requests_per_unit: 10, candidate: {requests_per_unit: 2}}
  - key: plain
    rate_limit: {unit: minute, requests_per_unit: 5, algorithm: fixed_window}
`;

const FOLDER = mkdtempSync(path.join(tmpdir(), 'weir-test-kinds-'));
writeFileSync(path.join(FOLDER, 'api.yaml'), API);

/** The differences of the first request of a test that is not answered as it expects; empty: it passes. */
async function differencesOf(requests: readonly string[], head = ''): Promise<readonly string[]> {
  const lines = requests.map((each) => `      - {${each}}\n`).join('');
  const text = `configuration: api.yaml\n${head}tests:\n  - name: t\n    requests:\n${lines}`;
  const list = new ProblemList();
  const file = readTestFile({ name: path.join(FOLDER, 'api.test.yaml'), text }, list);
  list.throwIfAny();
  const { tests } = await runTestFile(file!, {});
  const [{ failure } = {}] = tests;
  return failure?.differences.map(({ field, expected, actual }) => `${field}: ${expected}, got ${actual}`) ?? [];
}

/** As written, the requests pass; with the wrong expectation at the end they do not. */
async function expectPass(requests: readonly string[], wrong: string, difference: string, head = ''): Promise<void> {
  expect(await differencesOf(requests, head)).toEqual([]);
  expect(await differencesOf([...requests, wrong], head)).toEqual([difference]);
}

const slot = (id: string) => `descriptors: [{tenant: acme, request_id: ${id}}]`;

test('a request in flight holds its slot until negative hits end it, or its hold is over', async () => {
  await expectPass(
    [
      `domain: api, ${slot('a')}, expect: {code: OK, remaining: 1, limit: 2/60second}`,
      `${slot('b')}, expect: {code: OK, remaining: 0}`,
      `${slot('b')}, expect: OK`,
      `${slot('c')}, expect: OVER_LIMIT`,
      `at: 10s, ${slot('a')}, hits: -1`,
      `${slot('a')}, hits: -1`,
      `${slot('c')}, expect: {code: OK, remaining: 0}`,
      `${slot('d')}, hits: 0, expect: OVER_LIMIT`,
      `at: 59.999999s, ${slot('d')}, expect: OVER_LIMIT`,
      `at: 60s, ${slot('d')}, expect: OK`,
    ],
    `${slot('e')}, expect: OK`,
    'code: OK, got OVER_LIMIT',
  );
});

test('a usage report is charged in full below zero, and checks are denied until one hit is back', async () => {
  const report = (hits: number) => `descriptors: [{entries: {user: ann}, hits: ${hits}}]`;
  await expectPass(
    [
      `domain: api, ${report(0)}, expect: {code: OK, remaining: 1000}`,
      report(1300),
      `${report(0)}, expect: {code: OVER_LIMIT, remaining: 0, retry_after: 1083.6s}`,
      // 300 below zero: at 1000 an hour one hit is left after 301 of them.
      `at: 1083.599999s, ${report(0)}, expect: OVER_LIMIT`,
      `at: 1083.6s, ${report(0)}, expect: {code: OK, remaining: 1}`,
    ],
    `${report(0)}, expect: {remaining: 2}`,
    'remaining: 2, got 1',
  );
});

const held = 'descriptors: [{held: ann}]';

test('a reservation holds its hits, returns what a commit or a release did not use, and each step has its effect once', async () => {
  await expectPass(
    [
      `domain: api, ${held}, reserve: r1, hits: 600, expect: {code: OK, granted: 600, state: held, remaining: 400, rule: api.held, repeated: false}`,
      'reserve: r1, hits: 600, expect: {granted: 600, state: held, repeated: true}',
      'reserve: r2, hits: 600, expect: {code: OK, granted: 400, remaining: 0}',
      'hits: 1, expect: OVER_LIMIT',
      'reserve: r3, hits: 1, expect: {code: OVER_LIMIT, granted: 0, repeated: false}',
      'release: r2, expect: {state: released, granted: 400}',
      'commit: r1, hits: 100, expect: {code: OK, state: committed, granted: 600, cut: 0, late: false, unknown: false, repeated: false}',
      'commit: r1, hits: 100, expect: {state: committed, repeated: true}',
      'hits: 0, expect: {remaining: 900}',
      'release: r2, expect: {repeated: true}',
      'hits: 0, expect: {remaining: 900}',
      'commit: r9, hits: 950, expect: {unknown: true, state: committed, cut: 0}',
      'commit: r10, hits: 100, expect: {unknown: true, cut: 50}',
      'extend: r11, expect: NOT_FOUND',
      'reserve: "ü", hits: 1, expect: INVALID_ARGUMENT',
    ],
    'extend: r11',
    'answer: a decision, got NOT_FOUND: no reservation has this id; it was never made, or it ended long ago',
  );
});

test('a reservation lapses at the end of its time, unless it was extended, and a late commit charges', async () => {
  await expectPass(
    [
      `domain: api, ${held}, reserve: r1, hits: 600, ttl: 30s, expect: OK`,
      'reserve: r2, hits: 300, expect: OK',
      'at: 20s, extend: r1, ttl: 30s, expect: {state: held}',
      'at: 49.999999s, hits: 0, expect: {remaining: 100}',
      'at: 50s, hits: 0, expect: {remaining: 700}',
      'at: 60s, hits: 0, expect: {remaining: 1000}',
      'at: 61s, commit: r2, hits: 250, expect: {state: committed, late: true}',
      'hits: 0, expect: {remaining: 750}',
    ],
    'extend: r1, expect: {state: held}',
    'state: held, got lapsed',
  );
});

test('a candidate of the configuration, or of a record, is counted and never denies', async () => {
  const tried = 'descriptors: [{tried: x}]';
  await expectPass(
    [
      `domain: api, ${tried}, times: 2, expect: {code: OK, candidate: OK}`,
      'expect: {code: OK, candidate: OVER_LIMIT, status: [{candidate: OVER_LIMIT, remaining: 7}]}',
      'descriptors: [{plain: y}, {tried: z}], expect: {status: [{code: OK}, {candidate: OK}]}',
      'descriptors: [{plain: x}], times: 4, expect: {candidate: OK}',
      'descriptors: [{plain: x}], expect: {code: OK, candidate: OVER_LIMIT}',
    ],
    'descriptors: [{user: x}], expect: {candidate: OK}',
    'candidate: OK, got none',
    `records: [{kind: override, id: try, entries: [{key: plain, value: x}], limit: {requests_per_unit: 4, unit: minute}, candidate: true}]\n`,
  );
});

test('a record ends at its instant', async () => {
  await expectPass(
    [
      'domain: api, descriptors: [{plain: x}], expect: {code: OVER_LIMIT, remaining: 0}',
      'at: 9.999999s, expect: OVER_LIMIT',
      'at: 10s, expect: OK',
    ],
    'expect: {remaining: 4}',
    'remaining: 4, got 3',
    'records: [{kind: block, id: b, entries: [{key: plain, value: x}], until: 2026-01-01T01:00:10+01:00}]\n',
  );
});

test('a request that every server refuses is refused here, and each repetition of it is denied', async () => {
  await expectPass(
    [
      'domain: api, descriptors: [], expect: INVALID_ARGUMENT',
      'domain: "", descriptors: [{plain: x}], expect: INVALID_ARGUMENT',
      'domain: api, descriptors: [{entries: {plain: x}, limit: 7/4000000000year}], times: 3, expect: {code: INVALID_ARGUMENT, admitted: 0, denied: 3}',
    ],
    'domain: api, descriptors: []',
    'answer: a decision, got INVALID_ARGUMENT: rate limit descriptor list must not be empty; send at least one',
  );
});
