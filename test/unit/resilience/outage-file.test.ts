/** A process takes over the local shares of the one before it, and ignores a damaged file. */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BucketLimit } from '../../../src/domain/bucket/take';
import { FallbackStore } from '../../../src/state/resilience/fallback';
import { OutageFile } from '../../../src/state/resilience/outage-file';
import { UsageSnapshot } from '../../../src/state/resilience/usage-snapshot';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { until } from '../../support/clock/until';
import { BUCKET_ALGORITHMS, groupOf, LIMITS, take, TEN_PER_SECOND } from '../../support/decisions/groups';
import { decided } from '../../support/decisions/outcomes';
import { SwitchedStore, type Failure } from '../../support/redis/switched-store';

const START_MS = 1_800_000_000_000;
const DOWN: Failure = { reason: 'connection', mayHaveRun: false };
/** Nothing comes back within a test. */
const YEAR: BucketLimit = { ...TEN_PER_SECOND, windowUs: 31_536_000_000_000 };

let folder: string;
let file: string;
let nowMs: number;
let redis: MemoryStore;
let said: string[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-outage-'));
  file = path.join(folder, 'outage');
  nowMs = START_MS;
  redis = new MemoryStore({ nowUs: () => nowMs * 1_000, bucketsMax: 100 });
  said = [];
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A process that cannot reach Redis, until a test says so. Its clock may differ from that of the one before. */
async function begin({ aheadMs = 0, keyPrefix = '' } = {}) {
  const clockMs = () => nowMs + aheadMs;
  const nowUs = () => clockMs() * 1_000;
  const switched = new SwitchedStore(redis);
  switched.failing = DOWN;
  const kept = new OutageFile({ path: file, keyPrefix, onTrouble: (sentence) => said.push(sentence), nowMs: clockMs });
  const charged = { back: 0, lost: 0 };
  const store = new FallbackStore(switched, {
    failureMode: 'local',
    local: new MemoryStore({ nowUs, bucketsMax: 100_000 }),
    lastKnown: new UsageSnapshot({ nowMs: clockMs, bucketsMax: 100 }),
    accountsMax: 50_000,
    nowMs: clockMs,
    nowUs,
    instances: () => 1,
    onFallback: () => undefined,
    onChargedBack: (hits) => (charged.back += hits),
    onLost: (hits) => (charged.lost += hits),
    onChange: () => {
      kept.changed();
    },
    onCharging: () => kept.settle(),
  });
  const state = await kept.read();
  store.restore(state?.accounts ?? []);
  kept.follow({ instances: () => 1, kept: () => store.kept() });
  const admittedOf = async (key: string, limit: BucketLimit, calls: number) => {
    let admitted = 0;
    for (let i = 0; i < calls; i += 1) {
      const [outcome] = await store.take([groupOf([take(key, { limit })])]);
      if (!decided(outcome).overLimit) admitted += 1;
    }
    return admitted;
  };
  /** As far as the file goes, a kill after its last write. */
  return { store, switched, charged, admittedOf, end: () => kept.close(), state };
}

test.each(BUCKET_ALGORITHMS)('%s: restarts admit one share together, and a whole one when its time is over', async (algorithm) => {
  const limit = LIMITS[algorithm];
  const share = Math.floor(limit.capacity * 0.8);
  const first = await begin();
  expect(await first.admittedOf('k', limit, 1)).toBe(1);
  await first.end();
  const second = await begin();
  expect(await second.admittedOf('k', limit, 20)).toBe(share - 1);
  await second.end();
  for (let restart = 0; restart < 3; restart += 1) {
    // A restart does not begin the time of the hits anew.
    nowMs += (limit.windowUs / 1_000) * 0.02;
    const next = await begin();
    expect(await next.admittedOf('k', limit, 20)).toBe(0);
    await next.end();
  }
  nowMs += (limit.windowUs / 1_000) * 1.94;
  const last = await begin();
  expect(await last.admittedOf('k', limit, 20)).toBe(share);
  await last.end();
});

test('a clock that stepped back keeps the share used up, and no state is older than its window', async () => {
  const first = await begin();
  expect(await first.admittedOf('k', YEAR, 20)).toBe(8);
  expect(await first.admittedOf('m', LIMITS.fixed_window, 20)).toBe(2);
  await first.end();
  const behind = await begin({ aheadMs: -86_400_000 });
  expect(await behind.admittedOf('k', YEAR, 20)).toBe(0);
  expect(await behind.admittedOf('m', LIMITS.fixed_window, 20)).toBe(0);
  // They are hits of now, whose time is over in two windows, not in a day.
  nowMs += 120_000;
  expect(await behind.admittedOf('m', LIMITS.fixed_window, 20)).toBe(2);
  await behind.end();
  const later = await begin({ aheadMs: 3 * 31_536_000_000 });
  expect(await later.admittedOf('k', YEAR, 20)).toBe(8);
  await later.end();
});

test('what is owed is charged to the store by the next process, and by none after it', async () => {
  const first = await begin();
  await first.admittedOf('k', YEAR, 3);
  await first.end();
  const second = await begin();
  await until(() => owedIn(file) === 3);
  second.switched.failing = undefined;
  let finish = (): void => undefined;
  second.switched.hold = new Promise((resolve) => (finish = resolve));
  second.store.chargeBack();
  // The charge is under way: it may have run when this process is killed now.
  await until(() => second.switched.asked.adjust > 0);
  expect(owedIn(file)).toBe(0);
  finish();
  await until(() => second.charged.back > 0);
  await second.end();
  expect(second.charged).toEqual({ back: 3, lost: 0 });
  const third = await begin();
  expect(third.state).toBeUndefined();
  await third.end();
  expect(readdirSync(folder)).toEqual([]);
});

function owedIn(name: string): number {
  return Number(/"owed":(\d+)/.exec(readFileSync(name, 'utf8'))?.[1]);
}

test('the file has 2 MiB at most, only its user may read it, and buckets that are used up come first', async () => {
  const first = await begin();
  for (let i = 0; i < 20; i += 1) await first.admittedOf(`up${i}`, YEAR, 9);
  for (let i = 0; i < 10_500; i += 1) await first.admittedOf(`key-of-a-client-${i}`, YEAR, 1);
  await first.end();
  expect(statSync(file).size).toBeLessThanOrEqual(2 * 1024 * 1024);
  expect(statSync(file).size).toBeGreaterThan(1024 * 1024);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const second = await begin();
  for (let i = 0; i < 20; i += 1) expect(await second.admittedOf(`up${i}`, YEAR, 9)).toBe(0);
  await second.end();
});

const HEAD = '{"weir_outage":1,"prefix":"","instances":1}\n';
const LIMIT = { algorithm: 'token_bucket', windowUs: 1_000_000, requestsPerUnit: 10, capacity: 10 };
const ACCOUNT = { bucketKey: 'k', limit: LIMIT, instances: 1, used: 8, atUs: START_MS * 1_000, owed: 0 };

function lineOf(parts: object): string {
  return `${HEAD}${JSON.stringify({ ...ACCOUNT, ...parts })}\n`;
}

const damaged: readonly (readonly [string, string, RegExp])[] = [
  ['garbage', '\xfe'.repeat(5_000), /it was not written by Weir/],
  ['another format', HEAD.replace('1', '2'), /it was not written by Weir/],
  ['a line without its end', lineOf({}).slice(0, -5), /its last line is incomplete/],
  ['a line that is not JSON', `${HEAD}{{\n`, /JSON/],
  ['zeros behind the head', `${HEAD}${'\0'.repeat(100)}\n`, /JSON/],
  ['keys of another prefix', HEAD.replace('""', '"x"'), /another CACHE_KEY_PREFIX/],
  ['a negative count', lineOf({ used: -1 }), /used is out of range/],
  ['a count beyond all limits', lineOf({ owed: 2 ** 53 }), /owed is out of range/],
  ['an unknown algorithm', lineOf({ limit: { ...LIMIT, algorithm: 'toString' } }), /algorithm/],
  ['billions of slots', lineOf({ limit: { ...LIMIT, algorithm: 'in_flight', capacity: 4e9 } }), /capacity/],
  ['a key with a line feed', lineOf({ bucketKey: 'a\nb' }), /bucketKey is not a key/],
];

test.each(damaged)('%s is named once and ignored', async (_, text, why) => {
  writeFileSync(file, text, 'latin1');
  await expectIgnored(why);
});

const NOT_FILES: Readonly<Record<string, () => RegExp>> = {
  'a file of 1 GB': () => {
    writeFileSync(file, HEAD);
    truncateSync(file, 2 ** 30);
    return /it has more than 2097152 bytes/;
  },
  'a folder': () => {
    mkdirSync(file);
    return /it was not written by Weir/;
  },
  'a pipe': () => {
    execFileSync('mkfifo', [file]);
    return /it was not written by Weir/;
  },
  'a file that cannot be replaced': () => {
    mkdirSync(`${file}.new`);
    return /cannot be written: /;
  },
  'a path in no folder': () => {
    file = path.join(folder, 'none', 'outage');
    return /cannot be written: ENOENT/;
  },
};

test.each(Object.keys(NOT_FILES))('%s is named once and ignored', async (name) => {
  await expectIgnored(NOT_FILES[name]!());
});

async function expectIgnored(why: RegExp): Promise<void> {
  const process = await begin();
  expect(await process.admittedOf('k', YEAR, 20)).toBe(8);
  await process.end();
  expect(said).toEqual([expect.stringMatching(why)]);
}

test('a file of another program is never replaced, a damaged one of Weir is', async () => {
  writeFileSync(file, 'keep this');
  const first = await begin();
  await first.admittedOf('k', YEAR, 1);
  await first.end();
  expect(readFileSync(file, 'utf8')).toBe('keep this');
  writeFileSync(file, `${HEAD}damaged\n`);
  const second = await begin();
  await second.admittedOf('k', YEAR, 1);
  await second.end();
  expect(owedIn(file)).toBe(1);
});

test('what a process left of a write that it did not finish is gone after the next start', async () => {
  writeFileSync(`${file}.new`, lineOf({}).slice(0, -5));
  const next = await begin();
  await next.end();
  expect(readdirSync(folder)).toEqual([]);
  expect(said).toEqual([]);
});

test('a write that fails leaves no part of it', async () => {
  const first = await begin();
  await first.admittedOf('k', YEAR, 1);
  // The file cannot take the place of a folder.
  mkdirSync(file);
  await first.end();
  expect(readdirSync(folder)).toEqual([path.basename(file)]);
  expect(said).toEqual([expect.stringMatching(/cannot be written: /)]);
});

test('any number of changes in a second are one write', async () => {
  const timers = jest.spyOn(globalThis, 'setTimeout');
  const pauses = () => timers.mock.calls.filter(([, ms]) => ms === 1_000).length;
  const process = await begin();
  await process.admittedOf('k', YEAR, 3);
  await until(async () => {
    await process.admittedOf('j', YEAR, 1);
    return pauses() > 0;
  });
  for (let i = 0; i < 100; i += 1) {
    await process.admittedOf(`k${i}`, YEAR, 1);
    await new Promise(setImmediate);
  }
  expect(pauses()).toBe(1);
  expect(owedIn(file)).toBeGreaterThan(0);
  timers.mockRestore();
  await process.end();
});
