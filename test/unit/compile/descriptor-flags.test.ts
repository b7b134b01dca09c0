/** A descriptor decides by its flags which values share a bucket, what metrics show, and what metadata callers get. */

import { METADATA_BYTES_MAX, METADATA_DEPTH_MAX } from '../../../src/configuration/compile/field-types/metadata';
import { findNode } from '../../../src/domain/rule/tree';
import type { Rule } from '../../../src/domain/rule/rule';
import { entriesOf } from '../../support/decisions/rules';
import { compileConfig, compileText, problemsOf } from './compile-config';

const LIMIT = 'rate_limit: { unit: day, requests_per_unit: 1 }';

/** The rule that these entries find below `descriptors:`. */
function ruleOf(descriptors: string, ...entries: readonly string[]): Rule | undefined {
  const domain = compileText(`domain: d\ndescriptors:\n${descriptors}`).domains.get('d');
  return domain && findNode(domain.root, entriesOf(...entries))?.rule;
}

function warningsOf(fields: string): readonly string[] {
  const text = `domain: d\ndescriptors:\n  - { ${fields} }\n`;
  return compileConfig({ files: [{ name: 'c.yaml', text }], defaultAlgorithm: 'fixed_window', generation: 1 }).warnings;
}

test('flags are absent unless configured', () => {
  const rule = ruleOf(`  - { key: k, ${LIMIT} }\n`, 'k=v');
  expect(rule).toMatchObject({ detailedMetric: false, valueToMetric: [], shareThreshold: [] });
  expect(rule?.metadata).toBeUndefined();
});

test('flags belong to their level, and detailed_metric to the limit', () => {
  const nested = `
  - key: share
    value: "p/*"
    share_threshold: true
    detailed_metric: true
    descriptors:
      - key: plain
        value: v
        descriptors:
          - { key: shown, value_to_metric: yes, ${LIMIT} }
          - { key: detailed, detailed_metric: on, ${LIMIT} }
`;
  expect(ruleOf(nested, 'share=p/x', 'plain=v', 'shown=w')).toMatchObject({
    path: ['share_p/*', 'plain_v', 'shown'],
    detailedMetric: false,
    valueToMetric: [false, false, true],
    shareThreshold: [{ key: 'share', value: '~p/*', text: 'share=~p/*' }, undefined, undefined],
  });
  expect(ruleOf(nested, 'share=p/x', 'plain=v', 'detailed=w')).toMatchObject({ detailedMetric: true, valueToMetric: [] });
});

test('share_threshold of a key with a star is one counter for all its keys', () => {
  expect(ruleOf(`  - { key: "s*", share_threshold: true, ${LIMIT} }\n`, 'star=v')?.shareThreshold).toMatchObject([{ text: '~s*=~*' }]);
  expect(ruleOf(`  - { key: "s*", value: v, share_threshold: true, ${LIMIT} }\n`, 'star=v')?.shareThreshold).toMatchObject([
    { text: '~s*=v' },
  ]);
});

test.each([
  ['share_threshold: false, key: k', []],
  [
    `value_to_metric: true, key: k, value: v, ${LIMIT}`,
    ['c.yaml:3:24: descriptors[0].value_to_metric: has no effect beside a value without a *: it is shown as it is; remove it'],
  ],
  [
    `value_to_metric: true, key: k, value: "a*", share_threshold: true, ${LIMIT}`,
    ['c.yaml:3:24: descriptors[0].value_to_metric: has no effect beside share_threshold: the pattern is shown; remove it'],
  ],
  [
    'detailed_metric: true, key: k',
    ['c.yaml:3:24: descriptors[0].detailed_metric: has no effect on a descriptor without a limit; remove it, or set it where the limit is'],
  ],
  [
    'metadata: {a: 1}, key: k',
    ['c.yaml:3:17: descriptors[0].metadata: has no effect on a descriptor without a limit; remove it, or set it where the limit is'],
  ],
])('{ %s } causes warnings', (fields, lines) => {
  expect(warningsOf(fields)).toEqual(lines);
});

describe('metadata', () => {
  const metadataOf = (yaml: string) => ruleOf(`  - { key: k, metadata: ${yaml}, ${LIMIT} }\n`, 'k=v')?.metadata;

  test.each<[string, unknown]>([
    ['{}', {}],
    ['{unit: day, domain: x, anything: {goes: [here]}}', { unit: 'day', domain: 'x', anything: { goes: ['here'] } }],
    ['{a: 1, b: -2, c: 0x1f, d: 1_000, e: 1.5, f: -.5e3, g: +7}', { a: 1, b: -2, c: 31, d: 1000, e: 1.5, f: -500, g: 7 }],
    ['{a: yes, b: off, c: true, d: "yes", e: ~, f: null, g: ""}', { a: true, b: false, c: true, d: 'yes', e: null, f: null, g: '' }],
    ['{a: "1", b: 1.2.3, c: 2001-12-14, d: 0.}', { a: '1', b: '1.2.3', c: '2001-12-14', d: 0 }],
    ['{a: _1, b: ._5, c: 1_, d: 5._5, e: 0x_1}', { a: '_1', b: '._5', c: 1, d: 5.5, e: 1 }],
    [
      '{a: 0xffffffffffffffff, b: 0x10000000000000000, c: -0x8000000000000000, d: -0x8000000000000001}',
      { a: 2 ** 64, b: '0x10000000000000000', c: -(2 ** 63), d: '-0x8000000000000001' },
    ],
    ['{1: a, [2]: b}', undefined],
  ])('metadata is read: %s', (yaml, expected) => {
    if (expected === undefined) expect(() => metadataOf(yaml)).toThrow('a key must be text');
    else expect(metadataOf(yaml)).toEqual(expected);
  });

  test('metadata accepts any name', () => {
    expect(Object.keys(metadataOf('{__proto__: {polluted: true}}') ?? {})).toEqual(['__proto__']);
    expect('polluted' in {}).toBe(false);
  });

  test('metadata is nested only as deep as a caller can read', () => {
    const nested = (depth: number) => `${'{a: '.repeat(depth - 2)}[{a: 1}]${'}'.repeat(depth - 2)}`;
    expect(metadataOf(nested(METADATA_DEPTH_MAX))).toBeDefined();
    expect(() => metadataOf(nested(METADATA_DEPTH_MAX + 1))).toThrow(
      `is nested more than ${METADATA_DEPTH_MAX} deep; callers may fail to parse answers with it`,
    );
  });

  test('metadata is bounded, also where aliases unfold it', () => {
    const refusal = `is longer than ${METADATA_BYTES_MAX} bytes as JSON; every answer contains it, so shorten it`;
    const fits = 'x'.repeat(METADATA_BYTES_MAX - '{"a":""}'.length);
    expect(metadataOf(`{a: ${fits}}`)).toEqual({ a: fits });
    expect(() => metadataOf(`{a: ${fits}x}`)).toThrow(refusal);
    const levels = Array.from({ length: 5 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(10)}]`);
    expect(problemsOf(`domain: d\ndescriptors: [{ key: k, ${LIMIT}, metadata: { a0: &a0 x, ${levels.join(', ')} } }]\n`)).toEqual([
      expect.stringContaining(refusal),
    ]);
  });
});
