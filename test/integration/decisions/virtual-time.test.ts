/** `weir test` gives the answers in virtual time that a live Weir gives over gRPC, in random files of tests with all algorithms. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { examineConfig } from '../../../src/configuration/compile/compile';
import { ProblemList } from '../../../src/configuration/problems/problem-list';
import { readConfiguration } from '../../../src/program/cli/configuration';
import { readTestFile } from '../../../src/program/cli/test/file/read-test-file';
import { runTestFile, type FileResult } from '../../../src/program/cli/test/run-test-file';
import type { WireDescriptor, WireResponse } from '../../../src/server/transport/messages/wire';
import { WIRE_UNITS } from '../../../src/server/transport/messages/wire';
import { makeShouldRateLimit } from '../../../src/should-rate-limit';
import { MemoryStore } from '../../../src/state/store/memory/memory-store';
import { OK, RlsClient } from '../../support/clients/rls-client';
import { alone } from '../../support/decisions/decide-one';
import { casesOf } from '../../support/random/form';
import { randomFrom, type Random } from '../../support/random/random';
import { Harness } from '../../support/servers/transport-harness';

const FILES = casesOf(400);
const REQUESTS = 100;
const START_MS = Date.UTC(2026, 9, 24, 21, 30);
const START_US = START_MS * 1_000;
const FOLDER = mkdtempSync(path.join(tmpdir(), 'weir-virtual-time-'));

function pick<Item>(random: Random, items: readonly Item[]): Item {
  return items[random(items.length)]!;
}

const LIMITS: Readonly<Record<string, (rate: string, random: Random) => string>> = {
  tb: (rate, random) => `rate_limit: {${rate}, algorithm: token_bucket, burst: ${1 + random(30)}}`,
  lb: (rate, random) => `rate_limit: {${rate}, algorithm: leaky_bucket, burst: ${random(20)}}`,
  fw: (rate) => `rate_limit: {${rate}, algorithm: fixed_window}`,
  swl: (rate) => `rate_limit: {${rate}, algorithm: sliding_window_log}`,
  swc: (rate) => `rate_limit: {${rate}, algorithm: sliding_window_counter}`,
  cal: (_, random) =>
    `rate_limit: {unit: ${pick(random, ['day', 'hour'])}, requests_per_unit: ${1 + random(40)}, calendar: true, time_zone: Europe/Berlin}`,
  two: (rate) => `rate_limits: [{${rate}}, {unit: day, requests_per_unit: 50}]`,
  over: (rate, random) => `rate_limit: {${rate}, overdraft: true, overdraft_max: ${random(40)}}`,
  shadow: (rate) => `shadow_mode: true, rate_limit: {${rate}}`,
  quota: (rate) => `quota_mode: true, rate_limit: {${rate}}`,
  free: () => 'rate_limit: {unlimited: true}',
};

function configurationOf(random: Random): string {
  const rate = () => `unit: ${pick(random, ['second', 'minute', 'hour'])}, requests_per_unit: ${1 + random(20)}`;
  const lines = Object.entries(LIMITS).map(([key, limit]) => `  - {key: ${key}, ${limit(rate(), random)}}`);
  const inFlight = `{key: "id", in_flight: {max: ${1 + random(3)}, hold: ${1 + random(90)}s, id: id}}`;
  return ['domain: d', 'descriptors:', ...lines, `  - {key: slots, descriptors: [${inFlight}]}`].join('\n');
}

const KEYS = [...Object.keys(LIMITS), 'slots', 'slots', 'none'];

interface Asked {
  readonly wire: WireDescriptor;
  readonly yaml: string;
}

function askedOf(random: Random): Asked {
  const key = pick(random, KEYS);
  const entries = [[key, `v${random(2)}`], ...(key === 'slots' ? [['id', `r${random(4)}`] as const] : [])] as const;
  const hits = random(4) > 0 ? undefined : random(16) - 5;
  const limit = random(12) === 0 ? { requests: 1 + random(30), unit: 'minute' as const } : undefined;
  const map = `{${entries.map(([name, value]) => `${name}: ${value}`).join(', ')}}`;
  const own = [limit && `limit: ${limit.requests}/5${limit.unit}`, hits !== undefined && `hits: ${hits}`].filter(
    (each) => typeof each === 'string',
  );
  return {
    wire: {
      entries: entries.map(([name, value]) => ({ key: toByteString(name), value: toByteString(value) })),
      ...(hits !== undefined && { hits_addend: { value: String(Math.abs(hits)) }, is_negative_hits: hits < 0 }),
      ...(limit && { limit: { requests_per_unit: limit.requests, unit: WIRE_UNITS[limit.unit], unit_multiplier: { value: 5 } } }),
    },
    yaml: own.length === 0 ? map : `{entries: ${map}, ${own.join(', ')}}`,
  };
}

/** A server with its own store, whose clock the test moves. */
async function serve(file: string, clock: { nowUs: number }): Promise<Harness> {
  const { options } = await readConfiguration({ path: file, env: {}, mergesDomains: false });
  const { ruleSet, list } = examineConfig(options);
  list.throwIfAny();
  const nowUs = () => clock.nowUs;
  const store = new MemoryStore({ nowUs, bucketsMax: 100_000 });
  const harness = await Harness.start('lean');
  harness.decide = alone(
    makeShouldRateLimit({
      ruleSet: () => ruleSet,
      store,
      modes: { shadow: false, quota: false },
      keyPrefix: '',
      nowUs,
      record: () => undefined,
    }),
  );
  return harness;
}

const CODES = ['', 'OK', 'OVER_LIMIT'];

function expectationOf({ overall_code: code, statuses }: WireResponse): string {
  const each = statuses.map((status) => {
    const reset = status.duration_until_reset === undefined ? '' : `, reset: ${status.duration_until_reset.seconds}s`;
    return `{code: ${CODES[status.code]}, remaining: ${status.limit_remaining}${reset}}`;
  });
  return `{code: ${CODES[code]}, status: [${each.join(', ')}]}`;
}

/** The requests of a file, as a server answered them. */
async function recordLive(file: string, random: Random): Promise<readonly string[]> {
  const clock = { nowUs: START_US };
  const harness = await serve(file, clock);
  const client = new RlsClient(harness.port);
  const lines: string[] = [];
  try {
    for (let request = 0; request < REQUESTS; request += 1) {
      clock.nowUs += pick(random, [0, 0, random(1_000), random(2_000_000), random(90_000_000), random(7_200_000_000)]);
      const descriptors = Array.from({ length: 1 + random(3) }, () => askedOf(random));
      const hits = random(3) === 0 ? 1 + random(6) : undefined;
      const times = random(5) === 0 ? 2 + random(4) : 1;
      const at = random(2) === 0 ? `${clock.nowUs - START_US}us` : instantOf(clock.nowUs);
      const parts = [`at: ${at}, domain: d, descriptors: [${descriptors.map(({ yaml }) => yaml).join(', ')}]`];
      if (hits !== undefined) parts.push(`hits: ${hits}`);
      let admitted = 0;
      let answer: WireResponse | undefined;
      for (let repetition = 0; repetition < times; repetition += 1) {
        if (repetition > 0) clock.nowUs += 10_000;
        answer = await client.askRaw({
          domain: 'd',
          descriptors: descriptors.map(({ wire }) => wire),
          ...(hits !== undefined && { hits_addend: hits }),
        });
        if (answer.overall_code === OK) admitted += 1;
      }
      if (times > 1) parts.push(`times: ${times}, every: 10ms, expect: {admitted: ${admitted}, denied: ${times - admitted}}`);
      else parts.push(`expect: ${expectationOf(answer!)}`);
      lines.push(`      - {${parts.join(', ')}}`);
    }
  } finally {
    client.close();
    await harness.stop();
  }
  return lines;
}

function instantOf(us: number): string {
  const fraction = String(us % 1_000_000).padStart(6, '0');
  return `${new Date(Math.floor(us / 1_000)).toISOString().slice(0, 19)}.${fraction}Z`;
}

async function runVirtual(name: string, lines: readonly string[]): Promise<FileResult> {
  const start = new Date(START_MS).toISOString();
  const text = `configuration: ${name}\nstart: ${start}\ntests:\n  - name: t\n    requests:\n${lines.join('\n')}\n`;
  const list = new ProblemList();
  const file = readTestFile({ name: path.join(FOLDER, `${name}.test.yaml`), text }, list);
  list.throwIfAny();
  return runTestFile(file!, {});
}

/** The line of the first expectation of a remaining number is made wrong; undefined: there is none. */
function withMistake(lines: readonly string[]): { readonly lines: readonly string[]; readonly line: number } | undefined {
  const index = lines.findIndex((each) => /remaining: \d/.test(each));
  if (index < 0) return undefined;
  const wrong = lines.map((each, at) =>
    at === index ? each.replace(/remaining: (\d+)/, (_, number) => `remaining: ${Number(number) + 1}`) : each,
  );
  return { lines: wrong, line: index + 6 };
}

test('every answer of the server is that of virtual time: code, remaining and reset of each descriptor', async () => {
  const random = randomFrom();
  for (let file = 0; file < FILES; file += 1) {
    const name = `${file}.yaml`;
    writeFileSync(path.join(FOLDER, name), configurationOf(random));
    const lines = await recordLive(path.join(FOLDER, name), random);
    const { tests } = await runVirtual(name, lines);
    const [{ failure } = {}] = tests;
    if (failure !== undefined) throw new Error(`${JSON.stringify(failure, null, 2)}\n${lines.join('\n')}`);
    const mistake = withMistake(lines);
    if (mistake === undefined) continue;
    const wrong = await runVirtual(name, mistake.lines);
    expect(wrong.tests[0]?.failure?.line).toBe(mistake.line);
  }
});
