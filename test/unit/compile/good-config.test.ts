/** A valid configuration becomes the rules that it describes, with names that headers can carry. */

import { toByteString } from '../../../src/domain/descriptor/byte-string';
import type { Entry } from '../../../src/domain/descriptor/descriptor';
import { findNode, type DescriptorNode } from '../../../src/domain/rule/tree';
import type { RuleSet } from '../../../src/domain/rule/rule-set';
import { describeRules } from '../../../src/configuration/source/describe-rules';
import { compileConfig, compileText, problemsOf } from './compile-config';

function entries(...pairs: readonly (readonly [string, string])[]): Entry[] {
  return pairs.map(([key, value]) => ({ key: toByteString(key), value: toByteString(value) }));
}

function nodeOf(ruleSet: RuleSet, ...pairs: readonly (readonly [string, string])[]): DescriptorNode | undefined {
  const domain = ruleSet.domains.get('d');
  return domain && findNode(domain.root, entries(...pairs));
}

/** The rule of a single descriptor `k` with these rate_limit fields. */
function ruleOf(rateLimit: string): DescriptorNode['rule'] {
  return nodeOf(compileText(`domain: d\ndescriptors: [{key: k, rate_limit: {${rateLimit}}}]\n`), ['k', 'any'])?.rule;
}

describe('A valid configuration', () => {
  test('a valid configuration becomes a rule set of that generation', () => {
    const ruleSet = compileConfig({
      files: [
        { name: 'a.yaml', text: '---\ndomain: d\ndescriptors:\n' },
        { name: 'b.yaml', text: 'domain: e\nalgorithm: token_bucket\n' },
      ],
      defaultAlgorithm: 'fixed_window',
      generation: 7,
    });
    expect(ruleSet.generation).toBe(7);
    expect([...ruleSet.domains.values()].map(({ name, defaultAlgorithm }) => [name, defaultAlgorithm])).toEqual([
      ['d', 'fixed_window'],
      ['e', 'token_bucket'],
    ]);
  });

  test('a configuration without files is an empty rule set', () => {
    expect(compileConfig({ files: [], defaultAlgorithm: 'fixed_window', generation: 1 }).domains.size).toBe(0);
  });

  test.each([
    ['1234', '1234'],
    ['true', 'true'],
    ['on', 'on'],
    ['0x1F', '0x1F'],
    ['1.50', '1.50'],
    ['"~"', '~'],
    ['"a\\nb"', 'a\nb'],
    ["'it''s'", "it's"],
    ['größe', 'größe'],
  ])('value: %s is read as the text %j', (yaml, value) => {
    const ruleSet = compileText(`domain: d\ndescriptors:\n  - key: k\n    value: ${yaml}\n`);
    expect(nodeOf(ruleSet, ['k', value])).toBeDefined();
    expect(nodeOf(ruleSet, ['k', 'other'])).toBeUndefined();
  });

  test.each(['', '~', 'null', 'NULL', '""'])('value: %s is read as a key alone', (yaml) => {
    expect(nodeOf(compileText(`domain: d\ndescriptors:\n  - key: k\n    value: ${yaml}\n`), ['k', 'any'])).toBeDefined();
  });

  test.each([
    ['y', true],
    ['Yes', true],
    ['on', true],
    ['TRUE', true],
    ['N', false],
    ['no', false],
    ['Off', false],
    ['false', false],
    ['~', false],
  ])('shadow_mode: %s is read as %s', (yaml, shadowMode) => {
    const text = `domain: d\ndescriptors: [{key: k, shadow_mode: ${yaml}, rate_limit: {unit: day}}]\n`;
    expect(nodeOf(compileText(text), ['k', 'v'])?.rule).toMatchObject({ shadowMode, quotaMode: false });
  });

  test.each([
    ['5', 5],
    ['+5', 5],
    ['0', 0],
    ['1_000', 1000],
    ['0x1f', 31],
    ['0o17', 15],
    ['0b101', 5],
    ['4294967295', 4294967295],
    ['4294967296', 4294967296],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
  ])('requests_per_unit: %s is read as %d', (yaml, requestsPerUnit) => {
    expect(ruleOf(`unit: day, requests_per_unit: ${yaml}`)?.limits).toMatchObject([{ requestsPerUnit }]);
  });

  test('units are read in any case, with multiplier, name, burst and algorithm', () => {
    const fields = 'unit: MINUTE, unit_multiplier: 5, requests_per_unit: 3, name: n, burst: 9, algorithm: token_bucket';
    expect(ruleOf(fields)).toEqual({
      path: ['k'],
      limits: [
        {
          requestsPerUnit: 3,
          unit: 'minute',
          unitMultiplier: 5,
          name: 'n',
          algorithm: 'token_bucket',
          windowUs: 300_000_000,
          capacity: 9,
        },
      ],
      unlimited: false,
      name: '',
      replaces: [],
      shadowMode: false,
      quotaMode: false,
      detailedMetric: false,
      valueToMetric: [],
      shareThreshold: [],
    });
  });

  test.each([
    ['CR', '\r'],
    ['CR LF', '\r\n'],
    ['NEL', '\x85'],
  ])('lines may end with %s, also after a comment and in a block', (_, end) => {
    const lines = [
      'domain: d',
      'descriptors: # all of them',
      '- key: k # the one',
      '  value: |',
      '    a',
      '    b',
      '  rate_limit: { unit: day, requests_per_unit: 5 }',
      '',
    ];
    const ruleSet = compileText(lines.join(end));
    expect(nodeOf(ruleSet, ['k', 'a\nb\n'])?.rule?.limits).toMatchObject([{ requestsPerUnit: 5 }]);
    expect(problemsOf(`domain: d${end}descriptors: 5${end}`)).toEqual(['c.yaml:2:14: descriptors: must be a list, not text']);
  });

  test.each([
    ['|\n    a', 'a'],
    ['|+\n    a\n    b', 'a\nb'],
    ['>\n    a\n    b', 'a b'],
    ['|-\n    a', 'a'],
    ['|\n    a\n    ', 'a\n'],
    ['|\n    a\n', 'a\n'],
  ])('value: %j at the end of the file is read as %j', (block, value) => {
    const text = `domain: d\ndescriptors:\n- key: k\n  value: ${block}`;
    expect(nodeOf(compileText(text), ['k', value])).toBeDefined();
    // The same with a line below it: a block within the file has the line break that it ends with.
    const within = block.startsWith('|-') || value.endsWith('\n') ? value : `${value}\n`;
    expect(nodeOf(compileText(`${text}\n- key: l`), ['k', within])).toBeDefined();
  });

  test('a limit without requests_per_unit allows nothing, as in the reference', () => {
    expect(ruleOf('unit: day')?.limits).toMatchObject([{ requestsPerUnit: 0, capacity: 0 }]);
  });

  test('an unlimited rule has no limits, and may have requests_per_unit', () => {
    expect(ruleOf('unlimited: true, requests_per_unit: 5')).toMatchObject({ unlimited: true, limits: [] });
  });

  test('a descriptor without rate_limit has a node and no rule', () => {
    const ruleSet = compileText('domain: d\ndescriptors: [{key: k, shadow_mode: true}]\n');
    expect(nodeOf(ruleSet, ['k', 'v'])).toMatchObject({ children: { byKey: new Map() } });
    expect(nodeOf(ruleSet, ['k', 'v'])?.rule).toBeUndefined();
  });

  test('the algorithm is that of the limit, else its domain, else the default', () => {
    const text = (root: string, own: string): string => `domain: d\n${root}descriptors: [{key: k, rate_limit: {unit: day, ${own}}}]\n`;
    const algorithmOf = (root: string, own: string): unknown =>
      nodeOf(compileText(text(root, own)), ['k', 'v'])?.rule?.limits[0]?.algorithm;
    expect(algorithmOf('', '')).toBe('fixed_window');
    expect(algorithmOf('algorithm: token_bucket\n', '')).toBe('token_bucket');
    expect(algorithmOf('algorithm: token_bucket\n', 'algorithm: fixed_window')).toBe('fixed_window');
  });

  test('the failure mode is that of the limit, else its domain, else FAILURE_MODE', () => {
    const text = (root: string, own: string): string => `domain: d\n${root}descriptors: [{key: k, rate_limit: {unit: day, ${own}}}]\n`;
    const modeOf = (root: string, own: string): unknown => nodeOf(compileText(text(root, own)), ['k', 'v'])?.rule?.limits[0]?.failureMode;
    expect(modeOf('', '')).toBeUndefined();
    expect(modeOf('failure_mode: open\n', '')).toBe('open');
    expect(modeOf('failure_mode: open\n', 'failure_mode: closed')).toBe('closed');
    expect(compileText(text('failure_mode: open\n', '')).domains.get('d')).toMatchObject({ failureMode: 'open' });
    expect(problemsOf('domain: d\nfailure_mode: deny\n')).toEqual([
      'c.yaml:2:15: failure_mode: unknown failure mode "deny"; use one of local, open, closed, unavailable',
    ]);
  });

  test('response headers are those of the limit, else its domain, else RESPONSE_HEADERS', () => {
    const text = (root: string, own: string): string => `domain: d\n${root}descriptors: [{key: k, rate_limit: {unit: day, ${own}}}]\n`;
    const headersOf = (root: string, own: string): unknown =>
      nodeOf(compileText(text(root, own)), ['k', 'v'])?.rule?.limits[0]?.responseHeaders;
    expect(headersOf('', '')).toBeUndefined();
    expect(headersOf('response_headers: ietf\n', '')).toBe('ietf');
    // A boolean of YAML, and a word here.
    expect(headersOf('response_headers: ietf\n', 'response_headers: off')).toBe('off');
    expect(compileText(text('response_headers: reference\n', '')).domains.get('d')).toMatchObject({ responseHeaders: 'reference' });
    expect(problemsOf('domain: d\nresponse_headers: draft\n')).toEqual([
      'c.yaml:2:19: response_headers: unknown kind of response headers "draft"; use one of off, reference, ietf',
    ]);
  });

  test('a name loses characters that headers cannot carry, and replaces still finds it', () => {
    const text =
      'domain: d\ndescriptors:\n  - { key: k, rate_limit: { unit: day, name: "a\\r\\nb\\0\\x7f" } }\n  - { key: l, rate_limit: { unit: day, replaces: [{ name: "a\\r\\nb\\0\\x7f" }] } }\n';
    expect(nodeOf(compileText(text), ['k', 'v'])?.rule?.limits[0]?.name).toBe('a??b??');
    expect(nodeOf(compileText(text), ['l', 'v'])?.rule?.replaces).toEqual(['a??b??']);
  });

  test('keys and values stay apart', () => {
    const text = 'domain: d\ndescriptors: [{key: a_b, value: c}, {key: a, value: b_c}, {key: a_b_c}]\n';
    expect(problemsOf(text)).toEqual([]);
  });

  test("each level of a rule has the name of the reference's statistics", () => {
    const text = `domain: d
descriptors:
  - key: a
    value: v
    descriptors:
      - key: b
        descriptors:
          - {key: c, value: 'x*', rate_limit: {unit: day}}
`;
    expect(nodeOf(compileText(text), ['a', 'v'], ['b', 'any'], ['c', 'xy'])?.rule?.path).toEqual(['a_v', 'b', 'c_x*']);
  });

  test('wildcards match in the order of their declaration, after exact values and before the key alone', () => {
    const unit = (name: string): string => `rate_limit: {unit: day, name: ${name}}`;
    const ruleSet = compileText(`domain: d
descriptors:
  - {key: ex, value: 'foo*', ${unit('first')}}
  - {key: ex, value: foobar, ${unit('exact')}}
  - {key: ex, value: 'foob*', ${unit('longer')}}
  - {key: ex, ${unit('alone')}}
  - {key: 'st*', ${unit('starred')}}
`);
    const nameOf = (key: string, value: string): unknown => nodeOf(ruleSet, [key, value])?.rule?.limits[0]?.name;
    expect(nameOf('ex', 'foobar')).toBe('exact');
    expect(nameOf('ex', 'foobaz')).toBe('first');
    expect(nameOf('ex', 'zzz')).toBe('alone');
    expect(nameOf('star', 'any')).toBe('starred');
    expect(nameOf('sun', 'any')).toBeUndefined();
  });

  test('a configuration may repeat parts by anchors, aliases and merge keys', () => {
    const ruleSet = compileText(`domain: d
descriptors:
  - key: a
    rate_limit: &limit {unit: day, requests_per_unit: 5}
  - key: b
    rate_limit: *limit
  - key: c
    rate_limit:
      <<: [{unit: hour, name: n}, *limit]
      requests_per_unit: 7
  - key: d
    rate_limit:
      unit: day
      <<: *limit
`);
    expect(describeRules(ruleSet)).toEqual([
      'd.a: unit=DAY requests_per_unit=5, shadow_mode: false, quota_mode: false, algorithm: fixed_window',
      'd.b: unit=DAY requests_per_unit=5, shadow_mode: false, quota_mode: false, algorithm: fixed_window',
      'd.c: unit=HOUR requests_per_unit=7, shadow_mode: false, quota_mode: false, algorithm: fixed_window, name: n',
      'd.d: unit=DAY requests_per_unit=5, shadow_mode: false, quota_mode: false, algorithm: fixed_window',
    ]);
  });
});

describe('describeRules', () => {
  test('describeRules has the entries that spread the buckets of a domain', () => {
    const ruleSet = compileText('domain: d\nhash_tag: größe\ndescriptors: [{key: größe, rate_limit: {unit: day, requests_per_unit: 1}}]\n');
    expect(ruleSet.domains.get('d')?.hashTag).toBe(toByteString('größe'));
    expect(describeRules(ruleSet)).toEqual([
      'd.größe: unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window, hash_tag: größe',
    ]);
  });

  test('describeRules shows where a counter is shared', () => {
    const ruleSet = compileText(
      'domain: d\ndescriptors: [{key: k, value: "a*", share_threshold: true, descriptors: [{key: l, rate_limit: {unit: day, requests_per_unit: 1}}]}]\n',
    );
    expect(describeRules(ruleSet)).toEqual([
      'd.k_a*.l: unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window, share_threshold: true',
    ]);
  });

  test('describeRules has one line for each limit, whatever its keys and values contain', () => {
    const ruleSet = compileText(
      'domain: "d\\n# config"\ndescriptors: [{key: k, value: "a\\r\\nb", rate_limit: {unit: day, requests_per_unit: 1}}]\n',
    );
    expect(describeRules(ruleSet)).toEqual([
      'd?# config.k_a??b: unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window',
    ]);
  });

  test('describeRules lists every rule, sorted, with the fields of the reference first', () => {
    const ruleSet = compileText(`domain: dom
descriptors:
  - key: key
    value: value
    shadow_mode: true
    rate_limit: {unlimited: true}
    descriptors:
      - key: key2
        quota_mode: true
        rate_limit: {unit: minute, requests_per_unit: 3, algorithm: token_bucket, burst: 9, unit_multiplier: 2}
  - key: 'a*'
    rate_limit: {unit: day, requests_per_unit: 1}
`);
    expect(describeRules(ruleSet)).toEqual([
      'dom.a*: unit=DAY requests_per_unit=1, shadow_mode: false, quota_mode: false, algorithm: fixed_window',
      'dom.key_value.key2: unit=MINUTE requests_per_unit=3, shadow_mode: false, quota_mode: true, algorithm: token_bucket, capacity: 9, unit_multiplier: 2',
      'dom.key_value: unlimited, shadow_mode: true, quota_mode: false',
    ]);
  });
});
