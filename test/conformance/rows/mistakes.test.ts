/** Weir reports each mistake that envoyproxy/ratelimit refuses, with file, line and column. */

import { FILE } from '../../../src/configuration/compile/fields/file';
import { problemsOfFiles } from '../../unit/compile/compile-config';

interface Mistake {
  /** What the reference says of it; null: it takes the file, and does something else than was meant. */
  readonly reference: string | null;
  readonly files: readonly string[];
  readonly lines: readonly string[];
}

const LIMIT = 'rate_limit: { unit: day, requests_per_unit: 1 }';

/** A file of one descriptor, which begins at 3:5. */
function descriptor(fields: string): string {
  return `domain: d\ndescriptors:\n  - { key: k, ${fields} }\n`;
}

const MISTAKES: readonly Mistake[] = [
  {
    reference: 'error loading config file: yaml: …',
    files: ['domain: [\n'],
    lines: ['a.yaml:2:1: not valid YAML: Flow sequence in block collection must be sufficiently indented and end with a ]'],
  },
  {
    reference: 'cannot unmarshal !!str into bool',
    files: [descriptor(`shadow_mode: "yes", ${LIMIT}`)],
    lines: ['a.yaml:3:28: descriptors[0].shadow_mode: "yes" is not a boolean; use true or false, unquoted'],
  },
  {
    reference: 'cannot unmarshal !!str into uint32',
    files: [descriptor('rate_limit: { unit: day, requests_per_unit: many }')],
    lines: ['a.yaml:3:59: descriptors[0].rate_limit.requests_per_unit: "many" must be a whole number from 0 to 9007199254740991, unquoted'],
  },
  {
    reference: 'cannot unmarshal !!int into uint32',
    files: [descriptor('rate_limit: { unit: day, requests_per_unit: -1 }')],
    lines: ['a.yaml:3:59: descriptors[0].rate_limit.requests_per_unit: "-1" must be a whole number from 0 to 9007199254740991, unquoted'],
  },
  {
    reference: 'cannot unmarshal !!int into uint32',
    files: [descriptor('rate_limit: { unit: day, requests_per_unit: 9007199254740992 }')],
    lines: [
      'a.yaml:3:59: descriptors[0].rate_limit.requests_per_unit: "9007199254740992" must be a whole number from 0 to 9007199254740991, unquoted',
    ],
  },
  {
    reference: 'cannot unmarshal !!map into []config.YamlDescriptor',
    files: ['domain: d\ndescriptors: { key: k }\n'],
    lines: ['a.yaml:2:14: descriptors: must be a list, not a map; put a - before the first key of each item'],
  },
  {
    reference: "config error, unknown key 'ratelimit'",
    files: [descriptor('ratelimit: { unit: day }')],
    lines: ['a.yaml:3:15: descriptors[0].ratelimit: unknown key in a descriptor; did you mean rate_limit?'],
  },
  {
    reference: 'config error, key is not of type string: 0.25',
    files: ['domain: d\n0.25: x\n'],
    lines: [`a.yaml:2:1: "0.25": unknown key in the file; use ${FILE.keys.join(', ')}`],
  },
  {
    reference: 'config error, yaml file contains list of type other than map: a',
    files: ['domain: d\ndescriptors: [a]\n'],
    lines: [
      expect.stringMatching(
        /^a\.yaml:2:15: descriptors\[0\]: is text; it must be a map of the keys key, value, match, rate_limit, /,
      ) as string,
    ],
  },
  {
    reference: 'error checking config',
    files: [descriptor('rate_limit: { unit: day, requests_per_unit: 1.5 }')],
    lines: [
      'a.yaml:3:59: descriptors[0].rate_limit.requests_per_unit: "1.5" is not a whole number; the same rate is unit: day, unit_multiplier: 2, requests_per_unit: 3',
    ],
  },
  { reference: 'config file cannot have empty domain', files: ['domain: ""\n'], lines: ['a.yaml:1:9: domain: must not be empty'] },
  {
    reference: 'config file cannot have empty domain',
    files: ['descriptors: []\n'],
    lines: ['a.yaml:1:1: domain: is missing; give it some text'],
  },
  {
    reference: 'config file cannot have empty domain',
    files: [''],
    lines: [`a.yaml:1:1: is empty; it must be a map of the keys ${FILE.keys.join(', ')}`],
  },
  {
    reference: "duplicate domain 'd' in config file",
    files: ['domain: d\n', 'domain: d\n'],
    lines: ['b.yaml:1:9: domain: b.yaml and a.yaml both configure it; put all of a domain into one file, or set MERGE_DOMAIN_CONFIG=true'],
  },
  {
    reference: 'descriptor has empty key',
    files: ['domain: d\ndescriptors:\n  - { key: "" }\n'],
    lines: ['a.yaml:3:12: descriptors[0].key: must not be empty'],
  },
  {
    reference: 'descriptor has empty key',
    files: ['domain: d\ndescriptors:\n  - { value: v }\n'],
    lines: ['a.yaml:3:5: descriptors[0].key: is missing; give it some text'],
  },
  {
    reference: "duplicate descriptor composite key 'd.k_v'",
    files: [`${descriptor('value: v')}  - { key: k, value: v }\n`],
    lines: ['a.yaml:4:5: descriptors[1]: key "k" with value "v" is configured twice here: on line 3 and on line 4; merge them'],
  },
  {
    reference: "invalid rate limit unit 'fortnight'",
    files: [descriptor('rate_limit: { unit: fortnight, requests_per_unit: 1 }')],
    lines: [
      'a.yaml:3:35: descriptors[0].rate_limit.unit: unknown unit "fortnight"; use one of second, minute, hour, day, week, month, year, total',
    ],
  },
  {
    reference: "invalid rate limit unit 'unknown'",
    files: [descriptor('rate_limit: { unit: unknown, requests_per_unit: 1 }')],
    lines: [
      'a.yaml:3:35: descriptors[0].rate_limit.unit: unknown unit "unknown"; use one of second, minute, hour, day, week, month, year, total',
    ],
  },
  {
    reference: "invalid rate limit unit ''",
    files: [descriptor('rate_limit: { requests_per_unit: 1 }')],
    lines: ['a.yaml:3:27: descriptors[0].rate_limit.unit: is missing; use one of second, minute, hour, day, week, month, year, total'],
  },
  {
    reference: 'should not specify rate limit unit when unlimited',
    files: [descriptor('rate_limit: { unlimited: true, unit: day }')],
    lines: ['a.yaml:3:52: descriptors[0].rate_limit.unit: conflicts with unlimited: true; remove one of them'],
  },
  {
    reference: 'should not have an empty replaces entry',
    files: [descriptor('rate_limit: { unit: day, requests_per_unit: 1, name: n, replaces: [{ name: "" }] }')],
    lines: ['a.yaml:3:90: descriptors[0].rate_limit.replaces[0].name: must not be empty'],
  },
  {
    reference: 'replaces should not contain name of same descriptor',
    files: [descriptor('rate_limit: { unit: day, requests_per_unit: 1, name: n, replaces: [{ name: n }] }')],
    lines: ['a.yaml:3:90: descriptors[0].rate_limit.replaces[0].name: "n" is the limit\'s own name; name another limit, or remove it'],
  },
  {
    reference: "share_threshold can only be used with wildcard values (containing '*'), but found key 'k_v'",
    files: [descriptor(`value: v, share_threshold: true, ${LIMIT}`)],
    lines: [
      'a.yaml:3:42: descriptors[0].share_threshold: needs a * in the value or the key, or match: cidr: all values that match share one counter; add one of them, or remove it',
    ],
  },
  {
    reference: 'error loading config file: yaml: unmarshal errors',
    files: [descriptor(`metadata: text, ${LIMIT}`)],
    lines: ['a.yaml:3:25: descriptors[0].metadata: must be a map, not a scalar'],
  },
  {
    reference: null,
    files: [descriptor(`metadata: { a: .inf }, ${LIMIT}`)],
    lines: ['a.yaml:3:30: descriptors[0].metadata.a: ".inf" is not a number in JSON; put it in quotes to have it as text'],
  },
  { reference: null, files: ['domain: d\ndomain: e\n'], lines: ['a.yaml:2:1: domain: given twice: on line 1 and on line 2; keep one'] },
  {
    reference: null,
    files: ['domain: d\n---\ndomain: e\n'],
    lines: ['a.yaml:2:1: a second YAML document; put each into a file of its own'],
  },
  {
    reference: null,
    files: [descriptor(`unit: day, ${LIMIT}`)],
    lines: [
      'a.yaml:3:15: descriptors[0].unit: unknown key in a descriptor; it belongs inside rate_limit or inside show or inside candidate',
    ],
  },
  {
    reference: null,
    files: [descriptor('rate_limit: { unit: day, requests_per_unit: 010 }')],
    lines: ['a.yaml:3:59: descriptors[0].rate_limit.requests_per_unit: "010" could be octal or decimal; write it without the leading zero'],
  },
];

test.each(MISTAKES)('$lines ($reference)', ({ files, lines }) => {
  expect(linesOf(files)).toEqual(lines);
});

test.each(['\t\ndomain: d\n', 'domain: d\n\t\n', 'domain: d\n\t# nothing\ndescriptors: []\n'])(
  'Weir accepts %j, which the reference rejects (a tab character that violates indentation)',
  (text) => {
    expect(linesOf([text])).toEqual([]);
  },
);

test('one report lists all mistakes, each with its file', () => {
  const files = MISTAKES.map(({ files: [text = ''] }, index) => text.replace('domain: d', `domain: d${index}`));
  expect(linesOf(files).length).toBeGreaterThanOrEqual(MISTAKES.length - 1);
});

function linesOf(texts: readonly string[]): string[] {
  return problemsOfFiles(
    texts.map((text, index) => ({ name: index < 26 ? `${String.fromCharCode(97 + index)}.yaml` : `z${index}.yaml`, text })),
  );
}
