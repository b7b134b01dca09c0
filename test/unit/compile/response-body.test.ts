/** `response_body` in a configuration: which limits get it, where its errors are, and what operators see of it. */

import { formatExplanation } from '../../../src/program/cli/explain/explanation-text';
import { explainRequest } from '../../../src/configuration/explain/explanation';
import { isRateLimit, type Limit } from '../../../src/domain/rule/limit';
import { matchRequest } from '../../../src/domain/rule/match';
import { replaceValues, tryValues } from '../../../src/domain/rule/replace-values';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileText, problemsOf } from './compile-config';

const MODES = { shadow: false, quota: false };

function limitsOf(ruleSet: RuleSet, parts: Parameters<typeof requestOf>[0][number] = { entries: entriesOf('k=v') }): readonly Limit[] {
  return matchRequest({ ruleSet, request: requestOf([parts]), modes: MODES }).matches[0]?.limits ?? [];
}

function kindsOf(root: string, own: string): unknown[] {
  const text = `domain: d\n${root}descriptors: [{ key: k, in_flight: { max: 1, hold: 5s }, rate_limit: { unit: day, requests_per_unit: 5${own} } }]\n`;
  return limitsOf(compileText(text)).map(({ responseBody }) => responseBody?.kind);
}

test('a body is that of the limit, else of its domain, else of the setting', () => {
  expect(kindsOf('', '')).toEqual([undefined, undefined]);
  expect(kindsOf('', ', response_body: problem')).toEqual(['problem', undefined]);
  expect(kindsOf('response_body: { text: a }\n', ', response_body: OFF')).toEqual(['off', 'text']);
  expect(kindsOf('response_body: problem\n', ', response_body: { json: {} }')).toEqual(['json', 'problem']);
  const text = 'domain: d\ndescriptors: [{ key: k, in_flight: { max: 1, hold: 5s, response_body: problem } }]\n';
  expect(limitsOf(compileText(text)).map(({ responseBody }) => responseBody?.kind)).toEqual(['problem']);
});

test('a domain says whether any of its limits has a body', () => {
  const has = (root: string, own: string): unknown =>
    compileText(`domain: d\n${root}descriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5${own} } }]\n`).domains.get('d')
      ?.hasBodies;
  expect(has('', '')).toBeUndefined();
  expect(has('', ', response_body: off')).toBeUndefined();
  expect(has('', ', response_body: problem')).toBe(true);
  expect(has('response_body: problem\n', '')).toBe(true);
});

test('overrides of a request, and records of control data, keep the body of the limit that they replace', () => {
  const ruleSet = compileText(
    'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5, response_body: problem } }]\n',
  );
  const override = { requestsPerUnit: 1, unit: 'hour', unitMultiplier: 1 } as const;
  const kinds = (limits: readonly (Limit | undefined)[]): unknown[] => limits.map((limit) => limit?.responseBody?.kind);
  expect(kinds(limitsOf(ruleSet, { entries: entriesOf('k=v'), override }))).toEqual(['problem']);
  expect(kinds(limitsOf(ruleSet, { entries: entriesOf('other=v'), override }))).toEqual([undefined]);
  const [limit] = limitsOf(ruleSet).filter(isRateLimit);
  const values = { requestsPerUnit: 9, unit: 'hour' } as const;
  expect(kinds([replaceValues(limit!, values), tryValues(limit!, values), tryValues(limit!, values)?.candidate])).toEqual([
    'problem',
    'problem',
    undefined,
  ]);
  const ofDomain = compileText('domain: d\nresponse_body: problem\n');
  expect(kinds(limitsOf(ofDomain, { entries: entriesOf('k=v'), override }))).toEqual(['problem']);
});

test('an error names the line and the path of the text that is wrong', () => {
  const text = `domain: d
response_body:
  json:
    error: rate_limited
    help:
    - "See {limit_nam}"
    limit: {limit}
    also: {entry.user}
    braces: "{"
`;
  expect(problemsOf(text).map((line) => line.replace(/ use \{.*/, ''))).toEqual([
    'c.yaml:6:7: response_body.json.help[0]: has the unknown placeholder "{limit_nam}"; did you mean {limit_name}?',
    'c.yaml:7:12: response_body.json.limit: is a map in YAML; put quotes around it: "{limit}"',
    'c.yaml:8:11: response_body.json.also: is a map in YAML; put quotes around it: "{entry.user}"',
    'c.yaml:9:13: response_body.json.braces: has a single {; write {{ to show one',
  ]);
});

test('a body that could become too long or is nested too deep is an error', () => {
  const long = '{entry.a}'.repeat(12);
  expect(problemsOf(`domain: d\nresponse_body: { text: "${long}" }\n`)).toEqual([
    'c.yaml:2:24: response_body.text: may become longer than 16384 bytes when it is filled in; shorten it, or use fewer placeholders',
  ]);
  expect(problemsOf(`domain: d\nresponse_body: { json: { a: "${'x'.repeat(17_000)}" } }\n`)).toHaveLength(1);
  const deep = `${'{ a: '.repeat(17)}1${' }'.repeat(17)}`;
  expect(problemsOf(`domain: d\nresponse_body: { json: ${deep} }\n`)).toEqual([
    'c.yaml:2:24: response_body.json: is nested more than 16 deep; nest it less',
  ]);
});

test('a body beside unlimited has no effect', () => {
  const { warnings } = compileText('domain: d\ndescriptors: [{ key: k, rate_limit: { unlimited: true, response_body: problem } }]\n');
  expect(warnings).toEqual([expect.stringContaining('response_body: has no effect beside unlimited: true; remove it')]);
});

test('/rlconfig and weir explain show which body a limit has', () => {
  const ruleSet = compileText(
    'domain: d\nresponse_body: problem\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 5 } }]\n',
  );
  expect(describeRules(ruleSet)).toEqual([expect.stringContaining(', response_body: problem')]);
  const request = requestOf([{ entries: entriesOf('k=v') }]);
  const explanation = explainRequest({
    ruleSet,
    levels: new Map(),
    plans: new Map(),
    request,
    modes: MODES,
    keyPrefix: '',
    nowUs: () => 0,
  });
  expect(formatExplanation(explanation)).toContain('5 per day, fixed_window, 5 at once, body problem\n');
});
