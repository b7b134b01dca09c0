/** `overdraft` and `overdraft_max` decide how usage reports are charged, and are reported where they are invalid. */

import { describeRules } from '../../../src/configuration/source/describe-rules';
import { chooseDefaultOverdraft } from '../../../src/configuration/source/files/config-place';
import { toGroup } from '../../../src/domain/bucket/to-group';
import type { Descriptor } from '../../../src/domain/descriptor/descriptor';
import { matchRequest } from '../../../src/domain/rule/match';
import { entriesOf, requestOf } from '../../support/decisions/rules';
import { compileConfig, type CompileOptions, problemsOf } from './compile-config';

const MODES = { shadow: false, quota: false };

function compile(text: string, options: Partial<CompileOptions> = {}) {
  return compileConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'fixed_window', generation: 1, ...options });
}

function file({ root = '', limit = '' }: { readonly root?: string; readonly limit?: string }): string {
  return `domain: d\n${root}\ndescriptors:\n  - key: k\n    rate_limit: { unit: hour, requests_per_unit: 5${limit} }\n`;
}

/** How far below zero the descriptor's hits may take its bucket; undefined: they are no usage report. */
function overdraftOf(text: string, descriptor: Partial<Descriptor>, options: Partial<CompileOptions> = {}): number | undefined {
  const request = requestOf([{ entries: entriesOf('k=v'), ...descriptor }]);
  const matched = matchRequest({ ruleSet: compile(text, options), request, modes: MODES });
  return toGroup({ request, matched, keyPrefix: '', shadow: false, nowUs: () => 0 }).takes[0]?.overdraftMax;
}

test.each([
  ['the limit says so', file({ limit: ', overdraft: true' }), false, 5],
  ['and how far', file({ limit: ', overdraft: true, overdraft_max: 2' }), false, 2],
  ['the domain says so', file({ root: 'overdraft: true' }), false, 5],
  ['the limit says otherwise than its domain', file({ root: 'overdraft: true', limit: ', overdraft: false' }), false, undefined],
  ['the source says so', file({}), true, 5],
  ['the domain says otherwise than the source', file({ root: 'overdraft: false' }), true, undefined],
  ['nothing says so', file({}), false, undefined],
])("a descriptor's own hits are a report where %s", (_where, text, defaultOverdraft, overdraftMax) => {
  expect(overdraftOf(text, { hits: 3 }, { defaultOverdraft })).toBe(overdraftMax);
});

test.each([
  ['a refund of its own', { hits: -3 }, 5],
  ['a check', { hits: 0 }, undefined],
  ["the request's hits", {}, undefined],
])('%s has its overdraft, or none, under such a limit', (_what, descriptor, overdraftMax) => {
  expect(overdraftOf(file({ limit: ', overdraft: true' }), descriptor)).toBe(overdraftMax);
});

test('an override takes reports as the rule that it replaces does, else as the domain does', () => {
  const override = { requestsPerUnit: 9, unit: 'hour', unitMultiplier: 1 } as const;
  expect(overdraftOf(file({ limit: ', overdraft: true' }), { hits: 3, override })).toBe(9);
  expect(overdraftOf(file({ limit: ', overdraft: true, overdraft_max: 2' }), { hits: 3, override })).toBe(2);
  expect(overdraftOf(file({ root: 'overdraft: true', limit: ', overdraft: false' }), { hits: 3, override })).toBeUndefined();
  const other = { hits: 3, override, entries: entriesOf('other=v') };
  expect([overdraftOf(file({ root: 'overdraft: true' }), other), overdraftOf(file({}), other)]).toEqual([9, undefined]);
});

test.each([
  ['--config', { kind: 'path', path: 'x' }, false],
  ['RUNTIME_*', { kind: 'runtime', directory: 'x' }, true],
  ['xDS', { kind: 'xds', server: 'x' }, true],
] as const)('the default depends on the source: a configuration from %s', (_from, source, expected) => {
  expect(chooseDefaultOverdraft({ source, settings: { defaultOverdraft: undefined } })).toBe(expected);
  expect(chooseDefaultOverdraft({ source, settings: { defaultOverdraft: !expected } })).toBe(!expected);
});

test('an invalid overdraft is reported at its place', () => {
  const text =
    'domain: d\noverdraft: yes please\ndescriptors:\n  - { key: k, rate_limit: { unit: day, requests_per_unit: 5, overdraft: true, overdraft_max: -1 } }\n  - { key: l, rate_limit: { unit: day, requests_per_unit: 5, algorithm: sliding_window_log, overdraft: true, overdraft_max: 10001 } }\n';
  expect(problemsOf(text)).toEqual([
    'c.yaml:2:12: overdraft: "yes please" is not a boolean; use true or false, unquoted',
    'c.yaml:4:94: descriptors[0].rate_limit.overdraft_max: "-1" must be a whole number from 0 to 9007199254740991, unquoted',
    'c.yaml:5:125: descriptors[1].rate_limit.overdraft_max: 10001 is over 10000, the most that sliding_window_log remembers below zero; use sliding_window_counter',
  ]);
});

test('overdraft_max without overdraft, and both beside unlimited, are warnings', () => {
  expect(compile(file({ limit: ', overdraft_max: 3' })).warnings).toEqual([
    'c.yaml:5:68: descriptors[0].rate_limit.overdraft_max: has no effect without overdraft: true',
  ]);
  const unlimited = 'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unlimited: true, overdraft: true, overdraft_max: 3 } }\n';
  expect(compile(unlimited).warnings).toHaveLength(2);
});

test('files of one domain must agree on overdraft', () => {
  const files = [
    { name: 'a.yaml', text: 'domain: d\n' },
    { name: 'b.yaml', text: 'domain: d\noverdraft: true\n' },
  ];
  const merge = () => compileConfig({ files, defaultAlgorithm: 'fixed_window', mergeDomainConfig: true, generation: 1 });
  expect(merge).toThrow('b.yaml:2:12: overdraft: applies to the whole domain');
});

test('/rlconfig shows the overdraft', () => {
  expect(describeRules(compile(file({ limit: ', overdraft: true' })))[0]).toContain('overdraft_max: 5');
  expect(describeRules(compile(file({})))[0]).not.toContain('overdraft');
});
