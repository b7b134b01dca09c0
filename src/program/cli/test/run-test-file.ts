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
import { rulesOf } from '../../../domain/rule/tree';
import type { DescriptorLevel } from '../../../domain/rule/tree';
import { toText } from '../../../domain/descriptor/byte-string';
import { BadRequestError } from '../../../lib/errors';
import type { ControlRecord } from '../../../state/control/control-record';
import { VirtualService, type VirtualDecision } from '../../offline/virtual-service';
import { readConfiguration } from '../configuration';
import { formatExplanation } from '../explain/explanation-text';
import { compare, type Difference } from './compare';
import type { PlacedRecord, Test, TestFile, TestRequest } from './test-file';

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
  /** As `weir explain` prints it; absent: the request is invalid. */
  readonly explanation?: string;
}

export interface FileResult {
  readonly tests: readonly TestResult[];
  /** Rules with limits that no request of the file matched, as `domain.path`. */
  readonly untested: readonly string[];
  readonly rules: number;
}

interface Tested {
  readonly settings: Settings;
  readonly ruleSet: RuleSet;
  readonly levels: ReadonlyMap<DescriptorLevel, DeclaredLevel>;
  readonly plans: ReadonlyMap<Plan, PlanSpec>;
  readonly records: readonly ControlRecord[];
  readonly matched: Set<string>;
}

/**
 * @throws ConfigError if the configuration, or a record of the test file, is invalid
 */
export async function runTestFile(file: TestFile, env: Environment): Promise<FileResult> {
  const tested = await openTested(file, env);
  const tests: TestResult[] = [];
  for (const test of file.tests) tests.push(await runTest(test, { tested, file: file.name }));
  const rules = ruleNamesOf(tested.ruleSet);
  return { tests, untested: rules.filter((rule) => !tested.matched.has(rule)), rules: rules.length };
}

async function openTested(file: TestFile, env: Environment): Promise<Tested> {
  // A mistake in a setting that decides nothing here, such as a port, is of no concern.
  const directory = path.dirname(file.name);
  const read = await Promise.all(
    file.configuration.map((each) =>
      readConfiguration({ path: path.resolve(directory, each), env, mergesDomains: file.configuration.length > 1 }),
    ),
  );
  const [first] = read;
  if (first === undefined) throw new Error('a test file without a configuration');
  const levels = new Map<DescriptorLevel, DeclaredLevel>();
  const plans = new Map<Plan, PlanSpec>();
  const { ruleSet, list } = examineConfig({
    ...first.options,
    files: read.flatMap(({ options }) => options.files),
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

async function runRequest(
  { line, atUs, request, times, everyUs, expect }: TestRequest,
  { service, tested }: { readonly service: VirtualService; readonly tested: Tested },
): Promise<TestFailure | undefined> {
  const place = { line, request: requestText(request) };
  const explain = () => explanationOf(request, { tested, atUs });
  let admitted = 0;
  for (let repetition = 0; repetition < times; repetition += 1) {
    let answer: VirtualDecision;
    try {
      answer = await service.ask(request, atUs + repetition * everyUs);
    } catch (error) {
      if (!(error instanceof BadRequestError)) throw error;
      return { ...place, differences: [{ field: 'answer', expected: 'a decision', actual: `INVALID_ARGUMENT: ${error.message}` }] };
    }
    noteRules(answer, tested.matched);
    if (answer.decision.overallCode === 'OK') admitted += 1;
    const differences = expect === undefined ? [] : compare(answer, expect);
    if (differences.length > 0) return { ...place, ...(times > 1 && { repetition: repetition + 1 }), differences, explanation: explain() };
  }
  const counts = [
    { field: 'admitted', expected: expect?.admitted, actual: admitted },
    { field: 'denied', expected: expect?.denied, actual: times - admitted },
  ].flatMap(({ field, expected, actual }) =>
    expected === undefined || expected === actual ? [] : [{ field, expected: String(expected), actual: String(actual) }],
  );
  return counts.length === 0 ? undefined : { ...place, differences: counts, explanation: explain() };
}

function noteRules({ decided: { request, matched } }: VirtualDecision, rules: Set<string>): void {
  for (const { rule } of matched.matches) if (rule !== undefined) rules.add([toText(request.domain), ...rule.path].join('.'));
}

function explanationOf(request: TestRequest['request'], { tested, atUs }: { readonly tested: Tested; readonly atUs: number }): string {
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
    }),
  );
}

function requestText({ domain, descriptors, hits }: TestRequest['request']): string {
  const each = descriptors.map(({ entries }) => `(${entries.map(({ key, value }) => `${toText(key)}=${toText(value)}`).join(', ')})`);
  return `${toText(domain)} ${each.join(' ')}${hits === 1 ? '' : `, ${hits} hits`}`;
}

function ruleNamesOf({ domains }: RuleSet): string[] {
  return [...domains.values()].flatMap(({ name, root }) => [...rulesOf(root)].map(({ rule }) => [toText(name), ...rule.path].join('.')));
}
