/** Runs the tests of a file against its configuration. */

import path from 'node:path';
import { examineConfig } from '../../../configuration/compile/compile';
import type { DeclaredLevel } from '../../../configuration/compile/lint/declared-level';
import type { PlanSpec } from '../../../configuration/compile/read/read-plans';
import { ConfigError } from '../../../configuration/problems/config-error';
import { explainRequest } from '../../../configuration/explain/explanation';
import { chooseAdditions } from '../../../configuration/settings/choose-additions';
import { examineSettings, type Environment, type Settings } from '../../../configuration/settings/table/settings';
import type { Plan } from '../../../domain/rule/plan';
import type { RuleSet } from '../../../domain/rule/rule-set';
import { ruleName, rulesOf } from '../../../domain/rule/tree';
import type { DescriptorLevel } from '../../../domain/rule/tree';
import { toText } from '../../../domain/descriptor/byte-string';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import { US_PER_MS, US_PER_S } from '../../../lib/time-units';
import type { ControlRecord } from '../../../state/control/control-record';
import { VirtualService } from '../../offline/virtual-service';
import { readConfiguration } from '../configuration';
import { formatExplanation } from '../explain/explanation-text';
import { answerAt, refusalOf, type Answer } from './answer';
import { answerLines, compare, type Difference } from './compare';
import { Pace } from './pace';
import type { Expectation, PlacedRecord, Test, TestFile, TestRequest } from './file/test-file';

/** Room of one test: more buckets than its requests name. */
const BUCKETS_MAX = 1_000_000;

export interface TestResult {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  /** Number of requests, with their repetitions. */
  readonly requests: number;
  /** Absent: the test passed. */
  readonly failure?: TestFailure;
}

/** The first request of a test that was not answered as expected. */
export interface TestFailure {
  readonly line: number;
  /** Which repetition, from 1; absent: the request comes once, or all of them together are meant. */
  readonly repetition?: number;
  readonly request: string;
  readonly differences: readonly Difference[];
  /** Time of the request. */
  readonly at: string;
  /** The answer in words. */
  readonly answer: readonly string[];
  /** As `weir explain` prints it; absent: nothing was decided. */
  readonly explanation?: string;
}

export interface FileResult {
  readonly tests: readonly TestResult[];
  /** Rules with limits that no request of the file matched, as `domain.path`. */
  readonly untested: readonly string[];
  /** The rules that a request matched. */
  readonly reached: readonly string[];
  readonly rules: number;
}

interface Tested {
  readonly settings: Settings;
  readonly ruleSet: RuleSet;
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  readonly plans: ReadonlyMap<Plan, PlanSpec>;
  readonly records: readonly ControlRecord[];
  readonly matched: Set<string>;
  readonly pace: Pace;
}

export interface RunOptions {
  /** Awaited after each request. */
  readonly pace?: Pace | undefined;
}

/**
 * @throws ConfigError if the configuration, or a record of the test file, is invalid
 */
export async function runTestFile(file: TestFile, env: Environment, { pace }: RunOptions = {}): Promise<FileResult> {
  const tested = { ...(await openTested(file, env)), pace: pace ?? new Pace() };
  const tests: TestResult[] = [];
  for (const test of file.tests) {
    const result = await runTest(test, { tested, file: file.name });
    tests.push(result);
    tested.pace.endTest({ failed: result.failure !== undefined });
  }
  const rules = ruleNamesOf(tested.ruleSet);
  const untested = rules.filter((rule) => !tested.matched.has(rule));
  return { tests, untested, reached: [...tested.matched], rules: rules.length };
}

async function openTested(file: TestFile, env: Environment): Promise<Omit<Tested, 'pace'>> {
  // A mistake in a setting that decides nothing here, such as a port, is of no concern.
  const directory = path.dirname(file.name);
  const places = file.configuration.map((each) => (path.isAbsolute(each) ? each : path.join(directory, each)));
  const mergesDomains = places.length > 1;
  const read = await Promise.all(places.map((each) => readConfiguration({ path: each, env, mergesDomains })));
  const [first] = read;
  if (first === undefined) throw new Error('a test file without a configuration');
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  const plans = new Map<Plan, PlanSpec>();
  const { ruleSet, list } = examineConfig({
    ...first.options,
    files: read.flatMap(({ options }) => options.files),
    problems: read.flatMap(({ options }) => options.problems ?? []),
    onLevel: (declared) => levels.set(declared.level, declared),
    onPlan: (spec, plan) => plans.set(plan, spec),
  });
  list.throwIfAny();
  return {
    settings: examineSettings(env).settings,
    ruleSet,
    levels,
    plans,
    records: file.records.map((each) => withDomain(each, { file: file.name, ruleSet })),
    matched: new Set(),
  };
}

function withDomain(
  { record, line }: PlacedRecord,
  { file, ruleSet }: { readonly file: string; readonly ruleSet: RuleSet },
): ControlRecord {
  const [only, second] = ruleSet.domains.keys();
  const domain = record.domain ?? (second === undefined && only !== undefined ? toText(only) : undefined);
  if (domain !== undefined) return { ...record, domain } as ControlRecord;
  const message = 'has no domain, and the configuration has several; name one of them';
  throw new ConfigError([{ file, line, column: 1, path: 'records', message }]);
}

async function runTest(test: Test, { tested, file }: { readonly tested: Tested; readonly file: string }): Promise<TestResult> {
  const { settings, ruleSet, records } = tested;
  const service = new VirtualService({
    ruleSet,
    modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
    keyPrefix: settings.cacheKeyPrefix,
    records,
    additions: chooseAdditions(settings),
    startUs: test.startUs,
    bucketsMax: BUCKETS_MAX,
  });
  let requests = 0;
  for (const request of test.requests) {
    requests += request.times;
    const failure = await runRequest(request, { service, tested });
    if (failure !== undefined) return { file, name: test.name, line: test.line, requests, failure };
  }
  return { file, name: test.name, line: test.line, requests };
}

interface RunRequestInput {
  readonly service: VirtualService;
  readonly tested: Tested;
}

async function runRequest(asked: TestRequest, { service, tested }: RunRequestInput): Promise<TestFailure | undefined> {
  const { atUs, times, everyUs, expect = {} } = asked;
  const fail = (differences: readonly Difference[], answer: Answer, repetition: number): TestFailure => ({
    line: asked.line,
    at: instantText(atUs + repetition * everyUs),
    request: requestText(asked),
    differences,
    answer: answerLines(answer),
    ...(answer.decided && { explanation: explanationOf(asked.request, { service, tested, atUs }) }),
  });
  let admitted = 0;
  let last: Answer | undefined;
  const refusal = refusalOf(asked);
  for (let repetition = 0; repetition < times; repetition += 1) {
    const answer = refusal ?? (await answerAt(service, asked, atUs + repetition * everyUs));
    last = answer;
    if (tested.pace.isTurnOver()) await tested.pace.endTurn();
    if (answer.decided !== undefined) noteRules(answer.decided, tested.matched);
    if (answer.code === 'OK') admitted += 1;
    const differences = [...unexpectedError(answer, expect), ...compare(answer, expect)];
    if (differences.length > 0) return { ...fail(differences, answer, repetition), ...(times > 1 && { repetition: repetition + 1 }) };
  }
  const differences = countDifferences(expect, { admitted, times });
  return differences.length === 0 || last === undefined ? undefined : fail(differences, last, times - 1);
}

/** An error fails a test that does not name it. */
function unexpectedError({ code, message = '' }: Answer, expect: Expectation): readonly Difference[] {
  if (code === 'OK' || code === 'OVER_LIMIT' || expect.code !== undefined) return [];
  return [{ field: 'answer', expected: 'a decision', actual: `${code}: ${message}` }];
}

function countDifferences(expect: Expectation, { admitted, times }: { readonly admitted: number; readonly times: number }): Difference[] {
  return [
    { field: 'admitted', expected: expect.admitted, actual: admitted },
    { field: 'denied', expected: expect.denied, actual: times - admitted },
  ].flatMap(({ field, expected, actual }) =>
    expected === undefined || expected === actual ? [] : [{ field, expected: String(expected), actual: String(actual) }],
  );
}

function noteRules({ request, matched }: DecidedRequest, rules: Set<string>): void {
  for (const { rule } of matched.matches) if (rule !== undefined) rules.add(ruleName(request.domain, rule.path));
}

function explanationOf(request: TestRequest['request'], { service, tested, atUs }: RunRequestInput & { readonly atUs: number }): string {
  const { settings, ruleSet, levels, plans } = tested;
  return formatExplanation(
    explainRequest({
      ruleSet,
      levels,
      plans,
      request,
      modes: { shadow: settings.shadowMode, quota: settings.quotaMode },
      keyPrefix: settings.cacheKeyPrefix,
      nowUs: () => atUs,
      control: service.control,
    }),
  );
}

function requestText({ step, request: { domain, descriptors, hits: ofAll } }: TestRequest): string {
  const each = descriptors.map(({ entries, hits }) => {
    const pairs = entries.map(({ key, value }) => `${toText(key)}=${toText(value)}`);
    return `(${pairs.join(', ')}${hits === undefined ? '' : `; ${hits} hits`})`;
  });
  const made = step === undefined ? '' : `${step.kind} ${step.id}: `;
  const hits = step === undefined ? ofAll : 'hits' in step ? step.hits : 1;
  return `${made}${toText(domain)} ${each.join(' ')}${hits === 1 ? '' : `, ${hits} hits`}`;
}

function instantText(us: number): string {
  const [seconds] = new Date(Math.floor(us / US_PER_MS)).toISOString().split('.');
  const fraction = String(us % US_PER_S)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${seconds}${fraction === '' ? '' : `.${fraction}`}Z`;
}

function ruleNamesOf({ domains }: RuleSet): string[] {
  return [...domains.values()].flatMap(({ name, root }) => [...rulesOf(root)].map(({ rule }) => ruleName(name, rule.path)));
}
