/** A descriptor gets the limits of its rule without the replaced ones, or of its override. */

import { BadRequestError } from '../../../src/lib/errors';
import { matchRequest, type GlobalModes } from '../../../src/domain/rule/match';
import type { Descriptor } from '../../../src/domain/descriptor/descriptor';
import type { Rule } from '../../../src/domain/rule/rule';
import { entriesOf, levelOf, limitOf, requestOf, ruleOf, ruleSetOf } from '../../support/decisions/rules';

const NO_MODES: GlobalModes = { shadow: false, quota: false };

function matchOne(rules: Readonly<Record<string, Rule | null>>, descriptor: Descriptor, modes = NO_MODES) {
  const ruleSet = ruleSetOf(levelOf(rules));
  return matchRequest({ ruleSet, request: requestOf([descriptor]), modes }).matches[0];
}

test('a rule gives its limits, its mode, its path and itself', () => {
  const rule = ruleOf({ path: ['k_v'], quotaMode: true });
  expect(matchOne({ 'k=v': rule }, { entries: entriesOf('k=v') })).toEqual({
    limits: rule.limits,
    unlimited: false,
    mode: 'quota',
    quotaAlwaysFits: false,
    path: ['k_v'],
    rule,
  });
});

test.each([
  ['no rule for the entries', entriesOf('other=v')],
  ['a node without a limit', entriesOf('white=v')],
  ['no entries at all', []],
])('nothing limits %s', (_why, entries) => {
  const match = matchOne({ k: ruleOf(), white: null }, { entries });
  expect(match).toEqual({ limits: [], unlimited: false, mode: 'enforced', quotaAlwaysFits: false, path: [] });
});

test('an unknown domain is reported, and limits nothing, even with an override', () => {
  const override = { requestsPerUnit: 1, unit: 'second', unitMultiplier: 1 } as const;
  const request = requestOf([{ entries: entriesOf('k=v'), override }], { domain: 'unknown' });
  const matched = matchRequest({ ruleSet: ruleSetOf(levelOf({ k: ruleOf() })), request, modes: NO_MODES });
  expect(matched.domainFound).toBe(false);
  expect(matched.matches[0]?.limits).toEqual([]);
});

describe('an override', () => {
  const override = { requestsPerUnit: 42, unit: 'minute', unitMultiplier: 2 } as const;

  test("an override keeps the rule's algorithm and path, and drops its name, modes and flags", () => {
    const limits = [limitOf({ name: 'plan', algorithm: 'fixed_window' })];
    const rule = ruleOf({ path: ['k'], limits, shadowMode: true, quotaMode: true });
    expect(matchOne({ k: rule }, { entries: entriesOf('k=v'), override })).toEqual({
      limits: [limitOf({ ...override, algorithm: 'fixed_window' })],
      unlimited: false,
      mode: 'enforced',
      quotaAlwaysFits: false,
      path: ['k'],
    });
  });

  test('an override of an unlimited rule limits', () => {
    const match = matchOne({ k: ruleOf({ unlimited: true, limits: [] }) }, { entries: entriesOf('k=v'), override });
    expect(match).toMatchObject({ unlimited: false, limits: [{ requestsPerUnit: 42, algorithm: 'token_bucket' }] });
  });

  test("an override without a rule counts by the domain's default, under the names of its keys", () => {
    const match = matchOne({}, { entries: entriesOf('k=v', 'l=w'), override });
    expect(match).toMatchObject({ limits: [{ capacity: 42 }], path: ['k', 'l'] });
  });

  test('an override has the failure mode of the replaced limit, else of the domain', () => {
    const replaced = matchOne({ k: ruleOf({ limits: [limitOf({ failureMode: 'closed' })] }) }, { entries: entriesOf('k=v'), override });
    expect(replaced).toMatchObject({ limits: [{ requestsPerUnit: 42, failureMode: 'closed' }] });
    expect(matchOne({}, { entries: entriesOf('k=v'), override })).not.toMatchObject({ limits: [{ failureMode: 'closed' }] });
  });

  test('an invalid override is a bad request that names the field', () => {
    const entries = entriesOf('k=v');
    const ask = () => matchOne({}, { entries, override: { requestsPerUnit: 1, unit: 'year', unitMultiplier: 101 } });
    expect(ask).toThrow(BadRequestError);
    expect(ask).toThrow('descriptors[0].limit.unit_multiplier makes a window of over 100 years; use a shorter one');
  });
});

describe('replaces', () => {
  const basic = ruleOf({ limits: [limitOf({ name: 'basic' })] });
  const premium = ruleOf({ path: ['premium'], limits: [limitOf({ name: 'premium' })], replaces: ['basic'] });
  const matchAll = (rules: Readonly<Record<string, Rule | null>>, keys: readonly string[], modes = NO_MODES) =>
    matchRequest({
      ruleSet: ruleSetOf(levelOf(rules)),
      request: requestOf(keys.map((key) => ({ entries: entriesOf(`${key}=v`) }))),
      modes,
    }).matches;

  test.each([[['basic', 'premium']], [['premium', 'basic']]])('%j: the replaced limit does not apply, in any order', (keys) => {
    const matches = matchAll({ basic, premium }, keys);
    expect(matches[keys.indexOf('basic')]).toMatchObject({ limits: [], path: basic.path });
    expect(matches[keys.indexOf('premium')]).toMatchObject({ limits: premium.limits });
  });

  test('a limit that is replaced elsewhere applies alone', () => {
    expect(matchAll({ basic, premium }, ['basic'])[0]?.limits).toEqual(basic.limits);
  });

  test('two limits that replace each other both go', () => {
    const other = ruleOf({ limits: [limitOf({ name: 'basic' })], replaces: ['premium'] });
    expect(matchAll({ basic: other, premium }, ['basic', 'premium']).map(({ limits }) => limits)).toEqual([[], []]);
  });

  test('an unlimited rule replaces, and is never replaced', () => {
    const free = ruleOf({ unlimited: true, limits: [], name: 'basic' });
    expect(matchAll({ free, premium }, ['free', 'premium'])[0]).toMatchObject({ unlimited: true, limits: [] });
    const vip = ruleOf({ unlimited: true, limits: [], replaces: ['basic'] });
    expect(matchAll({ basic, vip }, ['basic', 'vip'])[0]).toMatchObject({ limits: [] });
  });

  test('only the named one of several limits goes', () => {
    const several = ruleOf({ limits: [limitOf({ name: 'basic' }), limitOf({ name: 'daily', unit: 'day' })] });
    expect(matchAll({ several, premium }, ['several', 'premium'])[0]?.limits.map(({ name }) => name)).toEqual(['daily']);
  });

  test('a replaced descriptor always fits under QUOTA_MODE, like an unmatched one', () => {
    const quota: GlobalModes = { shadow: false, quota: true };
    expect(matchAll({ basic, premium }, ['basic', 'premium'], quota)[0]).toMatchObject({ quotaAlwaysFits: true });
  });
});

describe('modes', () => {
  const quotaMode: GlobalModes = { shadow: false, quota: true };
  const entries = entriesOf('k=v');

  test.each<[string, Partial<Rule>, GlobalModes, string, boolean]>([
    ['a plain rule', {}, NO_MODES, 'enforced', false],
    ['a shadow rule', { shadowMode: true }, NO_MODES, 'shadow', false],
    ['a quota rule', { quotaMode: true }, NO_MODES, 'quota', false],
    ['a shadow rule with quota always fits', { shadowMode: true, quotaMode: true }, NO_MODES, 'shadow', true],
    ['a plain rule under QUOTA_MODE', {}, quotaMode, 'quota', false],
    ['a shadow rule under QUOTA_MODE always fits', { shadowMode: true }, quotaMode, 'shadow', true],
    ['an unlimited rule is outside the count', { unlimited: true, limits: [] }, quotaMode, 'quota', false],
  ])('the mode is right: %s', (_why, parts, modes, mode, quotaAlwaysFits) => {
    expect(matchOne({ k: ruleOf(parts) }, { entries }, modes)).toMatchObject({ mode, quotaAlwaysFits });
  });

  test('an unmatched descriptor under QUOTA_MODE always fits', () => {
    expect(matchOne({}, { entries }, quotaMode)).toMatchObject({ quotaAlwaysFits: true });
    expect(matchOne({}, { entries }, NO_MODES)).toMatchObject({ quotaAlwaysFits: false });
  });
});
