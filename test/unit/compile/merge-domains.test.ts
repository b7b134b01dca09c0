/** A domain in several files keeps the order of their paths, and a duplicate descriptor names both places. */

import { compileConfig } from './compile-config';
import { ConfigError } from '../../../src/configuration/problems/config-error';
import { findNode } from '../../../src/domain/rule/tree';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { entriesOf } from '../../support/decisions/rules';

function compile(files: Readonly<Record<string, string>>, mergeDomainConfig = true): RuleSet {
  const list = Object.entries(files).map(([name, text]) => ({ name, text }));
  return compileConfig({ files: list, defaultAlgorithm: 'fixed_window', mergeDomainConfig, generation: 1 });
}

function problemsOf(files: Readonly<Record<string, string>>, mergeDomainConfig = true): string[] {
  try {
    compile(files, mergeDomainConfig);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n');
    throw error;
  }
  return [];
}

function nameOf(ruleSet: RuleSet, entry: string): string | undefined {
  const domain = ruleSet.domains.get('d');
  return domain && findNode(domain.root, entriesOf(entry))?.rule?.limits[0]?.name;
}

/** A file of the domain with these descriptors, each with a limit of that name. */
function file(descriptors: Readonly<Record<string, string>>, root = ''): string {
  const items = Object.entries(descriptors).map(
    ([fields, name]) => `  - { ${fields}, rate_limit: { unit: day, requests_per_unit: 1, name: ${name} } }\n`,
  );
  return `domain: d\n${root}descriptors:\n${items.join('')}`;
}

test('the descriptors of all files merge, and domains that share nothing stay apart', () => {
  const ruleSet = compile({ 'a.yaml': file({ 'key: k, value: v': 'a' }), 'b.yaml': file({ 'key: k': 'b' }), 'c.yaml': 'domain: e\n' });
  expect([...ruleSet.domains.keys()]).toEqual(['d', 'e']);
  expect([nameOf(ruleSet, 'k=v'), nameOf(ruleSet, 'k=w')]).toEqual(['a', 'b']);
});

test('wildcards keep the order of the files', () => {
  const [a, b] = [file({ 'key: k, value: "x*"': 'a' }), file({ 'key: k, value: "*y"': 'b' })];
  expect(nameOf(compile({ 'a.yaml': a, 'b.yaml': b }), 'k=xy')).toBe('a');
  expect(nameOf(compile({ 'a.yaml': b, 'b.yaml': a }), 'k=xy')).toBe('b');
});

test('without the setting a domain in two files is an error', () => {
  expect(problemsOf({ 'a.yaml': file({ 'key: k': 'a' }), 'b.yaml': file({ 'key: l': 'b' }) }, false)).toEqual([
    'b.yaml:1:9: domain: b.yaml and a.yaml both configure it; put all of a domain into one file, or set MERGE_DOMAIN_CONFIG=true',
  ]);
});

test('a descriptor in two files is an error that names both places', () => {
  expect(problemsOf({ 'a.yaml': file({ 'key: l': 'l', 'key: k, value: v': 'a' }), 'b.yaml': file({ 'key: k, value: v': 'b' }) })).toEqual([
    'b.yaml:3:5: descriptors[0]: key "k" with value "v" is configured twice here: on line 4 of a.yaml and on line 3; put both into one file, as one',
  ]);
});

test('the fields of the domain itself come from the first file', () => {
  const ruleSet = compile({
    'a.yaml': file({ 'key: k': 'a' }, 'algorithm: token_bucket\nhash_tag: l\n'),
    'b.yaml': file({ 'key: l': 'b' }, 'algorithm: token_bucket\n'),
  });
  const domain = ruleSet.domains.get('d')!;
  expect(domain).toMatchObject({ defaultAlgorithm: 'token_bucket', hashTag: 'l' });
  expect(findNode(domain.root, entriesOf('l=v'))?.rule?.limits).toMatchObject([{ algorithm: 'token_bucket' }]);
  // The key stands in the second file.
  expect(ruleSet.warnings).toEqual([]);
  expect(
    problemsOf({ 'a.yaml': file({}, 'algorithm: token_bucket\n'), 'b.yaml': file({}, 'algorithm: fixed_window\nfailure_mode: open\n') }),
  ).toEqual([
    'b.yaml:2:12: algorithm: applies to the whole domain, but a.yaml, its first file, sets "token_bucket"; set it there',
    'b.yaml:3:15: failure_mode: applies to the whole domain, but a.yaml, its first file, does not set it; set it there',
  ]);
});

test("a file that changes another one's rules gets a warning", () => {
  expect(compile({ 'a.yaml': file({ 'key: k': 'a' }), 'b.yaml': file({ 'key: k, value: "*"': 'b' }) }).warnings).toEqual([
    'a.yaml:3:5: descriptors[0]: key "k" alone is never matched: value "*" on line 3 of b.yaml matches every value; remove one of them',
  ]);
});

test('every problem of every file is listed', () => {
  const bad = 'domain: d\ndescriptors: [{ key: k, vlaue: v }]\n';
  expect(problemsOf({ 'a.yaml': bad, 'b.yaml': bad })).toHaveLength(3);
});
