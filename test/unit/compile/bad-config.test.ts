/** All errors of a configuration are reported at once, with their lines. */

import { Lexer } from 'yaml';
import { PROBLEMS_MAX } from '../../../src/configuration/problems/problem-list';
import { DESCRIPTOR } from '../../../src/configuration/compile/fields/descriptor';
import { FILE, NESTING_MAX } from '../../../src/configuration/compile/fields/file';
import { YAML_DEPTH_MAX } from '../../../src/configuration/yaml/any-yaml';
import { YAML_ERRORS_MAX } from '../../../src/configuration/yaml/bounded-composer';
import { TEXT_BYTES_MAX } from '../../../src/domain/descriptor/descriptor-bounds';
import { problemsOf } from './compile-config';

const UNITS = 'second, minute, hour, day, week, month, year, total';
const FILE_KEYS = FILE.keys.join(', ');
const LIMIT = '    rate_limit:\n';

/** A file of one descriptor, whose fields begin on line 3. */
function descriptor(fields: string): string {
  return `domain: d\ndescriptors:\n  - key: k\n${fields}`;
}

const CASES: readonly { mistake: string; text: string; line: string }[] = [
  {
    mistake: 'an empty file',
    text: '',
    line: `c.yaml:1:1: is empty; it must be a map of the keys ${FILE_KEYS}`,
  },
  {
    mistake: 'a list at the root',
    text: '- a\n',
    line: `c.yaml:1:1: is a list; it must be a map of the keys ${FILE_KEYS}`,
  },
  { mistake: 'no domain', text: 'descriptors: []\n', line: 'c.yaml:1:1: domain: is missing; give it some text' },
  { mistake: 'a null domain', text: 'domain: ~\n', line: 'c.yaml:1:1: domain: is missing; give it some text' },
  { mistake: 'an empty domain', text: 'domain: ""\n', line: 'c.yaml:1:9: domain: must not be empty' },
  { mistake: 'a domain that is a map', text: 'domain: {a: b}\n', line: 'c.yaml:1:9: domain: must be text, not a map' },
  {
    mistake: 'broken YAML',
    text: 'domain: d: e\n',
    line: 'c.yaml:1:9: has a second colon, or the line below it is indented too far: write each key on a line of its own, in the column of the keys beside it, and quote a text with a colon',
  },
  { mistake: 'a tab', text: 'domain: d\n\tx: y\n', line: 'c.yaml:2:1: not valid YAML: Tabs are not allowed as indentation; use spaces' },
  {
    mistake: 'a line separator, which ends a line for the reference',
    text: descriptor('    value: v # a\u2028    shadow_mode: true\n'),
    line: 'c.yaml:4:17: U+2028 is a line end for some YAML parsers and text for others; write a line break, or \\L within double quotes',
  },
  {
    mistake: 'a paragraph separator',
    text: 'domain: "d\u2029"\n',
    line: 'c.yaml:1:11: U+2029 is a line end for some YAML parsers and text for others; write a line break, or \\P within double quotes',
  },
  {
    mistake: 'a control character',
    text: 'domain: d\ndescriptors: # \x01\n',
    line: 'c.yaml:2:16: U+0001 is not allowed in YAML; remove it, or write it as an escape within double quotes',
  },
  {
    mistake: 'half of a surrogate pair',
    text: 'domain: d\ndescriptors: [{key: "a\\ud800b"}]\n',
    line: 'c.yaml:2:21: descriptors[0].key: holds half of a surrogate pair; write the whole character',
  },
  {
    mistake: 'a second document',
    text: 'domain: d\n---\ndomain: e\n',
    line: 'c.yaml:2:1: a second YAML document; put each into a file of its own',
  },
  {
    mistake: 'a tag',
    text: 'domain: !!int 5\n',
    line: 'c.yaml:1:9: Unresolved tag: tag:yaml.org,2002:int; tags have no meaning here, so remove it',
  },
  {
    mistake: 'a tag that the YAML library would take the text for',
    text: descriptor('    value: !!binary aGk=\n'),
    line: 'c.yaml:4:21: descriptors[0].value: has the tag tag:yaml.org,2002:binary; tags have no meaning here, so remove it',
  },
  {
    mistake: 'a tag of a map',
    text: 'domain: d\ndescriptors: !!set { a, b }\n',
    line: 'c.yaml:2:20: descriptors: has the tag tag:yaml.org,2002:set; tags have no meaning here, so remove it',
  },
  {
    mistake: 'a duplicate YAML key',
    text: 'domain: d\n\ndomain: e\n',
    line: 'c.yaml:3:1: domain: given twice: on line 1 and on line 3; keep one',
  },
  { mistake: 'a key that is a list', text: 'domain: d\n? [a]\n: b\n', line: 'c.yaml:2:3: a key must be text; write it as key: value' },
  { mistake: 'an unknown alias', text: 'domain: *d\n', line: 'c.yaml:1:9: domain: *d has no anchor &d that ends before it' },
  {
    mistake: 'an alias of what it stands in',
    text: 'domain: d\ndescriptors: &a [*a]\n',
    line: 'c.yaml:2:18: descriptors[0]: *a has no anchor &a that ends before it',
  },
  { mistake: 'a merge of text', text: '<<: a\ndomain: d\n', line: 'c.yaml:1:5: <<: must be a map or a list of maps' },
  {
    mistake: 'a merge below what it would take the place of',
    text: descriptor(`${LIMIT}      requests_per_unit: 5\n      unit: day\n      <<: { unit: day, requests_per_unit: 1 }\n`),
    line: 'c.yaml:5:7: descriptors[0].rate_limit.requests_per_unit: is also set by the << below it, and YAML parsers differ in which of the two wins; put the << first',
  },
  {
    mistake: 'two merges',
    text: descriptor(`${LIMIT}      <<: { unit: day }\n      <<: { unit: hour }\n`),
    line: 'c.yaml:6:7: descriptors[0].rate_limit.<<: given twice: on line 5 and on line 6; keep one',
  },
  {
    mistake: 'a limit of which a part is merged',
    text: 'domain: d\ndescriptors:\n  - &k { key: k, rate_limit: { unit: day, requests_per_unit: 5 } }\n  - { <<: *k, value: v, rate_limit: { unit: hour } }\n',
    line: 'c.yaml:4:25: descriptors[1].rate_limit: has no "requests_per_unit", which the map merged by << has: some YAML parsers combine the two, others do not; write it here too, or merge within',
  },
  { mistake: 'descriptors that are text', text: 'domain: d\ndescriptors: a\n', line: 'c.yaml:2:14: descriptors: must be a list, not text' },
  {
    mistake: 'a descriptor that is text',
    text: 'domain: d\ndescriptors: [a]\n',
    line: `c.yaml:2:15: descriptors[0]: is text; it must be a map of the keys ${DESCRIPTOR.keys.join(', ')}`,
  },
  {
    mistake: 'a descriptor without a key',
    text: 'domain: d\ndescriptors:\n  - value: v\n',
    line: 'c.yaml:3:5: descriptors[0].key: is missing; give it some text',
  },
  { mistake: 'an empty key', text: "domain: d\ndescriptors:\n  - key: ''\n", line: 'c.yaml:3:10: descriptors[0].key: must not be empty' },
  {
    mistake: 'a misspelled key',
    text: descriptor('    ratelimit: {}\n'),
    line: 'c.yaml:4:5: descriptors[0].ratelimit: unknown key in a descriptor; did you mean rate_limit?',
  },
  {
    mistake: 'an unknown key',
    text: 'domain: d\nfriends: 5\n',
    line: `c.yaml:2:1: friends: unknown key in the file; use ${FILE_KEYS}`,
  },
  {
    mistake: 'a key that is not a word',
    text: 'domain: d\n"a\\nb": 5\n',
    line: `c.yaml:2:1: "a\\nb": unknown key in the file; use ${FILE_KEYS}`,
  },
  {
    mistake: 'a misplaced key',
    text: descriptor('    unit: second\n'),
    line: 'c.yaml:4:5: descriptors[0].unit: unknown key in a descriptor; it belongs inside rate_limit or inside show or inside candidate',
  },
  {
    mistake: 'a misplaced mode',
    text: descriptor(`${LIMIT}      unit: day\n      shadow_mode: true\n`),
    line: 'c.yaml:6:7: descriptors[0].rate_limit.shadow_mode: unknown key in rate_limit; it belongs inside a descriptor',
  },
  {
    mistake: 'a misplaced algorithm',
    text: descriptor('    algorithm: fixed_window\n'),
    line: 'c.yaml:4:5: descriptors[0].algorithm: unknown key in a descriptor; it belongs at the root of the file or inside rate_limit or inside candidate',
  },
  { mistake: 'an empty hash_tag', text: 'domain: d\nhash_tag: ""\n', line: 'c.yaml:2:11: hash_tag: must not be empty' },
  {
    mistake: 'share_threshold of a single value',
    text: descriptor('    value: v\n    share_threshold: true\n'),
    line: 'c.yaml:5:22: descriptors[0].share_threshold: needs a * in the value or the key, or match: cidr: all values that match share one counter; add one of them, or remove it',
  },
  {
    mistake: 'metadata that is text',
    text: descriptor('    metadata: gold\n'),
    line: 'c.yaml:4:15: descriptors[0].metadata: must be a map, not a scalar',
  },
  {
    mistake: 'metadata with a number that JSON has not',
    text: descriptor(`${LIMIT}      unit: day\n    metadata: {a: [1, .nan]}\n`),
    line: 'c.yaml:6:23: descriptors[0].metadata.a[1]: ".nan" is not a number in JSON; put it in quotes to have it as text',
  },
  {
    mistake: 'metadata with a number that is too large for JSON',
    text: descriptor(`${LIMIT}      unit: day\n    metadata: {a: [1, 1e999]}\n`),
    line: 'c.yaml:6:23: descriptors[0].metadata.a[1]: "1e999" is not a number in JSON; put it in quotes to have it as text',
  },
  {
    mistake: 'metadata with a leading zero',
    text: descriptor(`${LIMIT}      unit: day\n    metadata: {zip: 01099}\n`),
    line: 'c.yaml:6:21: descriptors[0].metadata.zip: "01099" could be octal or decimal; put it in quotes to have it as text',
  },
  {
    mistake: 'a quoted boolean',
    text: descriptor('    shadow_mode: "yes"\n'),
    line: 'c.yaml:4:18: descriptors[0].shadow_mode: "yes" is not a boolean; use true or false, unquoted',
  },
  {
    mistake: 'a boolean that is a number',
    text: descriptor('    quota_mode: 1\n'),
    line: 'c.yaml:4:17: descriptors[0].quota_mode: "1" is not a boolean; use true or false, unquoted',
  },
  {
    mistake: 'a rate_limit that is text',
    text: descriptor('    rate_limit: 5/s\n'),
    line: 'c.yaml:4:17: descriptors[0].rate_limit: is text; write it as { unit: second, requests_per_unit: 5 }',
  },
  {
    mistake: 'no unit',
    text: descriptor(`${LIMIT}      requests_per_unit: 5\n`),
    line: `c.yaml:5:7: descriptors[0].rate_limit.unit: is missing; use one of ${UNITS}`,
  },
  {
    mistake: 'a misspelled unit',
    text: descriptor(`${LIMIT}      unit: secnod\n`),
    line: `c.yaml:5:13: descriptors[0].rate_limit.unit: unknown unit "secnod"; did you mean second? use one of ${UNITS}`,
  },
  {
    mistake: 'an unknown unit',
    text: descriptor(`${LIMIT}      unit: unknown\n`),
    line: `c.yaml:5:13: descriptors[0].rate_limit.unit: unknown unit "unknown"; use one of ${UNITS}`,
  },
  {
    mistake: 'an unknown algorithm',
    text: 'domain: d\nalgorithm: gcra\n',
    line: 'c.yaml:2:12: algorithm: unknown algorithm "gcra"; use one of token_bucket, leaky_bucket, fixed_window, sliding_window_log, sliding_window_counter',
  },
  {
    mistake: 'a unit beside unlimited',
    text: descriptor(`${LIMIT}      unlimited: yes\n      unit: day\n`),
    line: 'c.yaml:6:13: descriptors[0].rate_limit.unit: conflicts with unlimited: true; remove one of them',
  },
  ...['-1', '9007199254740992', '9007199254740993', '-1.5', '1e3', '"5"', 'many', '_1'].map((number) => ({
    mistake: `requests_per_unit: ${number}`,
    text: descriptor(`${LIMIT}      unit: day\n      requests_per_unit: ${number}\n`),
    line: `c.yaml:6:26: descriptors[0].rate_limit.requests_per_unit: "${number.replaceAll('"', '')}" must be a whole number from 0 to 9007199254740991, unquoted`,
  })),
  {
    mistake: 'a leading zero',
    text: descriptor(`${LIMIT}      unit: day\n      requests_per_unit: 010\n`),
    line: 'c.yaml:6:26: descriptors[0].rate_limit.requests_per_unit: "010" could be octal or decimal; write it without the leading zero',
  },
  {
    mistake: 'a multiplier of 0',
    text: descriptor(`${LIMIT}      unit: day\n      unit_multiplier: 0\n`),
    line: 'c.yaml:6:24: descriptors[0].rate_limit.unit_multiplier: 0 must be a whole number from 1 to 4294967295',
  },
  {
    mistake: 'a window of centuries',
    text: descriptor(`${LIMIT}      unit: year\n      unit_multiplier: 101\n`),
    line: 'c.yaml:6:24: descriptors[0].rate_limit.unit_multiplier: 101 makes a window of over 100 years; use a shorter one',
  },
  {
    mistake: 'a bucket that never fills',
    text: descriptor(`${LIMIT}      {unit: day, burst: 5, algorithm: token_bucket}\n`),
    line: 'c.yaml:5:26: descriptors[0].rate_limit.burst: 5 takes over 100 years to fill at this rate; use a smaller burst or more requests_per_unit',
  },
  {
    mistake: 'a descriptor twice',
    text: descriptor('  - key: k\n    value: v\n  - key: k\n'),
    line: 'c.yaml:6:5: descriptors[2]: key "k" is configured twice here: on line 3 and on line 6; merge them',
  },
  {
    mistake: 'a wildcard twice',
    text: descriptor('    value: a*\n  - key: k\n    value: a*\n'),
    line: 'c.yaml:5:5: descriptors[1]: key "k" with value "a*" is configured twice here: on line 3 and on line 5; merge them',
  },
];

describe('A bad configuration', () => {
  test.each(CASES)('a configuration with $mistake is reported with its place', ({ text, line }) => {
    expect(problemsOf(text)).toEqual([line]);
  });

  test('a configuration with one domain in two files names both places', () => {
    expect(problemsOf('domain: d\n', 'domain: d\n')).toEqual([
      'c2.yaml:1:9: domain: c2.yaml and c.yaml both configure it; put all of a domain into one file, or set MERGE_DOMAIN_CONFIG=true',
    ]);
  });

  test('every problem of every file is shown at once', () => {
    const text = descriptor('    vlaue: v\n    rate_limit:\n      unit: fortnight\n      requests_per_unit: lots\n');
    expect(problemsOf(text, 'domain: [')).toEqual([
      'c.yaml:4:5: descriptors[0].vlaue: unknown key in a descriptor; did you mean value?',
      `c.yaml:6:13: descriptors[0].rate_limit.unit: unknown unit "fortnight"; use one of ${UNITS}`,
      'c.yaml:7:26: descriptors[0].rate_limit.requests_per_unit: "lots" must be a whole number from 0 to 9007199254740991, unquoted',
      'c2.yaml:1:10: not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]',
    ]);
  });

  test('at most a thousand problems are shown, and the rest is counted', () => {
    const lines = problemsOf(`domain: d\ndescriptors: [${'a, '.repeat(PROBLEMS_MAX + 7)}]\n`);
    expect(lines).toHaveLength(PROBLEMS_MAX + 1);
    expect(lines.at(-1)).toBe('and 7 more');
  });

  test.each([
    ['errors of the composer', `domain: "${'\\\n'.repeat(20_000)}"\n`],
    ['errors of the parser', '}\n'.repeat(20_000)],
    ['errors behind the end of a list', '[}\n'.repeat(20_000)],
    ['errors behind the end of an alias', '*\n'.repeat(20_000)],
    ['errors behind the end of a document, all on a line', '[]'.repeat(20_000)],
    ['unknown directives', '%\n'.repeat(20_000)],
  ])('a text that is not YAML is read to its first hundred %s', (_, text) => {
    const lines = problemsOf(text);
    expect(lines.length).toBeLessThanOrEqual(YAML_ERRORS_MAX + 1);
    expect(lines.at(-1)).toMatch(/^c\.yaml:\d{1,3}:\d{1,3}: not valid YAML in over 100 places; the rest of the file is not read$/);
  });

  describe('that is long', () => {
    const LONG = 2 * 1024 * 1024;
    const read = jest.spyOn(Lexer.prototype, 'lex');

    beforeEach(() => {
      read.mockClear();
    });

    afterAll(() => {
      read.mockRestore();
    });

    // Their errors are found only once all is read: that of megabytes took seconds and a gigabyte.
    test.each(['[a]\n', 'a: *\n', '- [}\n', '- "\n', '|\n', '{}\n', '}'])('a long text is rejected by its beginning: %j', (line) => {
      const lines = problemsOf(`domain: d\ndescriptors:\n${line.repeat(LONG / line.length)}`);
      expect(lines).toHaveLength(YAML_ERRORS_MAX + 1);
      expect(lines.at(-1)).toMatch(/^c\.yaml:\d{1,3}:\d{1,3}: not valid YAML in over 100 places/);
      const bytes = read.mock.calls.reduce((sum, [source]) => sum + source.length, 0);
      expect(bytes).toBeLessThan(100_000);
    });

    test('a long text is not rejected for what its cut-off end breaks', () => {
      const depth = 60;
      const open = '{key: k, descriptors: ['.repeat(depth);
      const comment = '  # There is more.\n'.repeat(LONG / 19);
      expect(problemsOf(`domain: d\ndescriptors: [${open}\n${comment}  ${']}'.repeat(depth)}]\n`)).toEqual([]);
    });
  });

  test('a text that is nested too deep is rejected at that depth', () => {
    const nested = (depth: number): string => `domain: d\n${'descriptors: [{key: k, '.repeat(depth)}${'}]'.repeat(depth)}\n`;
    expect(problemsOf(nested(NESTING_MAX))).toEqual([]);
    expect(problemsOf(nested(NESTING_MAX + 1))).toEqual([
      expect.stringMatching(
        /: descriptors are nested more than 64 deep, but requests have at most that number of entries; nest them less$/,
      ),
    ]);
    const tooDeep = expect.stringMatching(/^c\.yaml:\d+:\d+: the YAML is nested more than 256 deep$/) as string;
    expect(problemsOf(nested(YAML_DEPTH_MAX))).toEqual([tooDeep]);
    expect(problemsOf('['.repeat(100_000))).toEqual([tooDeep]);
    expect(problemsOf('{a: '.repeat(100_000))).toEqual([tooDeep]);
    expect(problemsOf('- '.repeat(100_000))).toEqual([tooDeep]);
    expect(problemsOf('? '.repeat(100_000))).toEqual([tooDeep]);
  });

  test('aliases that unfold without bound are rejected', () => {
    const levels = Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(10)}]`);
    const lines = problemsOf(`a0: &a0 x\n${levels.join('\n')}\n`);
    expect(lines[0]).toMatch(/aliases repeat over 1000000 nodes up to here; write fewer$/);
  });

  test('a key longer than any request can carry is rejected', () => {
    expect(problemsOf(`domain: ${'d'.repeat(TEXT_BYTES_MAX + 1)}\n`)).toEqual([
      'c.yaml:1:9: domain: must not be longer than 65536 bytes; no request can be',
    ]);
  });
});
