/** Matching takes the exact value, then the first wildcard, then the key, at the cost of a few lookups. */

import { findNode, NO_CHILDREN, type DescriptorLevel, type DescriptorNode } from '../../../src/domain/rule/tree';
import { compileWildcard, matchesWildcard } from '../../../src/domain/descriptor/wildcard';
import { WildcardIndex, type WildcardNode } from '../../../src/domain/descriptor/wildcard-index';
import { randomFrom } from '../../support/random/random';
import { entriesOf } from '../../support/decisions/rules';

function node(name: string, children = NO_CHILDREN): DescriptorNode {
  return {
    rule: {
      path: [name],
      limits: [],
      unlimited: true,
      name: '',
      replaces: [],
      shadowMode: false,
      quotaMode: false,
      detailedMetric: false,
      valueToMetric: [],
      shareThreshold: [],
    },
    children,
  };
}

function wildcard(key: string, value: string): WildcardNode<DescriptorNode> {
  return { key: compileWildcard(key), value: compileWildcard(value), node: node(`${key}=${value}`) };
}

/** The reference's own example, in this order: foo*, foobar, foob*, *, and the key alone. */
const EXAMPLE: DescriptorLevel = {
  byValue: new Map([['ex', new Map([['foobar', node('exact')]])]]),
  wildcards: new WildcardIndex(['foo*', 'foob*', '*'].map((value) => wildcard('ex', value))),
  byKey: new Map([['ex', node('key alone')]]),
};

const NESTED: DescriptorLevel = {
  byValue: new Map([['nest', new Map([['1', node('nest', { ...NO_CHILDREN, byKey: new Map([['sub', node('sub')]]) })]])]]),
  wildcards: new WildcardIndex(),
  byKey: new Map([['nest', node('default')]]),
};

test.each([
  ['foo', 'ex=foo*', 'a star matches nothing, too'],
  ['foobar', 'exact', 'the exact value beats every wildcard'],
  ['foobaz', 'ex=foo*', 'the first declared beats the longer'],
  ['zzz', 'ex=*', 'the key alone is out of reach behind a star'],
  ['', 'ex=*', 'an empty value as well'],
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

describe('many wildcards', () => {
  test('the first declared match wins among thousands, whatever they begin and end with', () => {
    const random = randomFrom();
    const text = (letters: string, length: number) =>
      Array.from({ length: random(length) }, () => letters[random(letters.length)]).join('');
    for (let run = 0; run < 300; run += 1) {
      const declared = Array.from({ length: 1 + random(30) }, () => wildcard(random(4) === 0 ? text('k*', 3) : 'k', text('ab*', 6)));
      const index = new WildcardIndex(declared);
      for (let ask = 0; ask < 30; ask += 1) {
        const entry = { key: text('k', 3), value: text('ab', 7) };
        const scanned = declared.find(({ key, value }) => matchesWildcard(key, entry.key) && matchesWildcard(value, entry.value));
        expect(index.find(entry)).toBe(scanned?.node);
      }
      expect(index.nodes.map((placed) => placed.node)).toEqual(declared.map((each) => each.node));
    }
  });

  test.each(['%*', '*.%'])('a lookup among thousands like %s compares only those with the literal of the value', (pattern) => {
    let compared = 0;
    const counted = (text: string): WildcardNode<DescriptorNode> => {
      const compiled = compileWildcard(text);
      const value = {
        ...compiled,
        get prefix() {
          compared += 1;
          return compiled.prefix;
        },
      };
      return { ...wildcard('host', text), value };
    };
    const texts = Array.from({ length: 5000 }, (_, i) => pattern.replace('%', `tenant-${i}.example`));
    const index = new WildcardIndex(texts.map(counted));
    compared = 0;
    const value = pattern.replace('%', 'tenant-4711.example').replace('*', 'a');
    expect(index.find({ key: 'host', value })?.rule?.path).toEqual([`host=${pattern.replace('%', 'tenant-4711.example')}`]);
    expect(compared).toBe(1);
  });
});

/** Counts what is looked up in it. */
class CountingMap<Value> extends Map<string, Value> {
  static lookups = 0;

  override get(key: string): Value | undefined {
    CountingMap.lookups += 1;
    return super.get(key);
  }
}

test.each([10, 100_000])('%i configured values cost a request the same number of lookups', (count) => {
  const values = new CountingMap<DescriptorNode>();
  for (let i = 0; i < count; i += 1) values.set(`user-${i}`, node('exact'));
  const level: DescriptorLevel = {
    ...NO_CHILDREN,
    byValue: new CountingMap([['user', values]]),
    byKey: new CountingMap([['user', node('key alone')]]),
  };
  const lookups = (value: string) => {
    CountingMap.lookups = 0;
    return [findNode(level, [{ key: 'user', value }])?.rule?.path[0], CountingMap.lookups];
  };
  expect([lookups('user-7'), lookups('unknown')]).toEqual([
    ['exact', 2],
    ['key alone', 3],
  ]);
});
