/** The descriptor tree: the reference's order of matching, and wildcards. */

import { findNode, type DescriptorLevel, type DescriptorNode } from '../../src/descriptor/tree';
import { compileWildcard, matchesWildcard } from '../../src/descriptor/wildcard';
import { entriesOf } from '../support/rules';

const EMPTY: DescriptorLevel = { byValue: new Map(), wildcards: [], byKey: new Map() };

function node(name: string, children = EMPTY): DescriptorNode {
  return { rule: { path: [name], limits: [], unlimited: true, name: '', replaces: [], shadowMode: false, quotaMode: false }, children };
}

/** The reference's own example, in this order: foo*, foobar, foob*, *, and the key alone. */
const EXAMPLE: DescriptorLevel = {
  byValue: new Map([['ex', new Map([['foobar', node('exact')]])]]),
  wildcards: ['foo*', 'foob*', '*'].map((value) => ({
    key: compileWildcard('ex'),
    value: compileWildcard(value),
    node: node(value),
  })),
  byKey: new Map([['ex', node('key alone')]]),
};

const NESTED: DescriptorLevel = {
  byValue: new Map([['nest', new Map([['1', node('nest', { ...EMPTY, byKey: new Map([['sub', node('sub')]]) })]])]]),
  wildcards: [],
  byKey: new Map([['nest', node('default')]]),
};

test.each([
  ['foo', 'foo*', 'a star matches nothing, too'],
  ['foobar', 'exact', 'the exact value beats every wildcard'],
  ['foobaz', 'foo*', 'the first declared beats the longer'],
  ['zzz', '*', 'the key alone is out of reach behind a star'],
  ['', '*', 'an empty value as well'],
])('ex=%s: %s (%s)', (value, expected) => {
  expect(findNode(EXAMPLE, [{ key: 'ex', value }])?.rule?.path).toEqual([expected]);
});

test.each([
  [['nest=1'], 'nest'],
  [['nest=2'], 'default'],
  [['nest=1', 'sub=x'], 'sub'],
  [['nest=2', 'sub=x'], undefined],
  [['nest=1', 'sub=x', 'more=y'], undefined],
  [['sub=x'], undefined],
  [[], undefined],
])('%j: %s', (texts, expected) => {
  expect(findNode(NESTED, entriesOf(...texts))?.rule?.path[0]).toBe(expected);
});

test.each([
  ['a', 'a', true],
  ['a', 'ab', false],
  ['*', '', true],
  ['a*', 'a', true],
  ['*a', 'ba', true],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['a*b*c', 'a-b-c', true],
  ['a*b*c', 'a-c-b', false],
  ['*ab*ab*', 'ab', false],
  ['*ab*ab*', 'xababx', true],
  ['a**b', 'ab', true],
])('pattern %s, text %j: %s', (pattern, text, matches) => {
  expect(matchesWildcard(compileWildcard(pattern), text)).toBe(matches);
});
