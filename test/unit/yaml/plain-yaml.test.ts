/** The plain YAML reader reads the same as the full parser. */

import { readFileSync } from 'node:fs';
import { Composer, Lexer, Parser } from 'yaml';
import { rootOf } from '../../../src/configuration/yaml/document-tape';
import type { ConfigNode } from '../../../src/configuration/yaml/config-node';
import { readDocument } from '../../../src/configuration/yaml/config-document';
import { FIELDS_MAX, readPlainYaml } from '../../../src/configuration/yaml/plain-yaml';
import { FileProblems, ProblemList } from '../../../src/configuration/problems/problem-list';
import { lineStartsOf } from '../../../src/configuration/problems/line-starts';
import { TapeWriter } from '../../../src/configuration/yaml/tape-writer';
import { YamlConverter } from '../../../src/configuration/yaml/yaml-converter';
import { randomFrom, seeded, type Random } from '../../support/random/random';

/** As JSON, so that two are the same in all that they say. */
function shown(node: ConfigNode): unknown {
  const { kind, offset, size } = node;
  if (node.kind === 'scalar') return { ...node };
  if (node.kind === 'list') return { kind, offset, size, length: node.length, items: Array.from(node.items, shown) };
  return { kind, offset, size, fields: Array.from(node.fields, ([key, { keyOffset, value }]) => [key, keyOffset, shown(value)]) };
}

/** Undefined: it is not read. */
function readPlain(text: string): unknown {
  const writer = new TapeWriter();
  return readPlainYaml(text, writer) ? shown(rootOf(writer.finish())) : undefined;
}

/** By the library; undefined: it has a problem. */
function readAny(text: string): unknown {
  const composer = new Composer({ schema: 'failsafe', prettyErrors: false, uniqueKeys: false });
  const parser = new Parser();
  const tokens = function* () {
    for (const lexeme of new Lexer().lex(text)) yield* parser.next(lexeme);
    yield* parser.end();
  };
  const documents = [...composer.compose(tokens(), true, text.length)];
  const [document] = documents;
  if (document === undefined || documents.length > 1 || document.errors.length + document.warnings.length > 0) return undefined;
  const list = new ProblemList();
  const root = new YamlConverter(text, new FileProblems('f', lineStartsOf(text), list)).convertRoot(document.contents);
  return root === undefined || list.found().kept.length > 0 ? undefined : shown(root);
}

const EXAMPLE = readFileSync('deploy/example/payments.yaml', 'utf8');

test.each([
  ['a list in the column of its key', 'a:\n- b: 1\n- c: 2\nd: 3\n'],
  ['lists in lists', '- - a\n  - - b\n- c: - d\n'],
  ['a list in a list', '- - a\n  - - b\n- c:\n  - d\n'],
  ['comments, blank lines and a mark at the beginning', '# one\n\n--- # two\na: b # three\n\n  # four\nc: d#e\n'],
  ['quotes', `'it''s': "a \\"b\\" \\\\ \\n \\/"\n"": 'x'\n`],
  ['quoted keys and values', `'it''s': "a \\"b\\" \\\\ \\n \\/ #"\n"b": 'x # y'   # z\n`],
  ['brackets', 'a: { b: c, d: [e, "f", { g: h }], i: {}, j: [] }\nk: [ 1,2 ,3 ]\n'],
  ['brackets over several lines', 'a: {\n  b: c,\n  d: [\n    e\n  ]\n  }\n'],
  [
    'JSON',
    JSON.stringify(
      { domain: 'd', descriptors: [{ key: 'k', value: 'é "x"', rate_limit: { unit: 'hour', requests_per_unit: 3 } }] },
      null,
      2,
    ),
  ],
  ['JSON on one line, colons with a space', '{"a": 1, "b": [true, {"c": null}]}'],
  ['line ends of Windows', 'a: b\r\nc:\r\n  - d\r\n  - e: f\r\n'],
  ['no line end at the end', 'a:\n  b: c'],
  ['characters of two units, and none of Latin-1', 'a: "😀"\nb: жук\nc: é\n'],
  ['numbers, dates, paths, negatives', 'a: -1\nb: 2020-01-01T00:00:00\nc: /a/b:c\nd: http://x/y\ne: a - b\nf: ~\ng: null\n'],
  ['the example', EXAMPLE],
])('%s', (_, text) => {
  const plain = readPlain(text);
  if (plain !== undefined) expect(plain).toEqual(readAny(text));
});

test.each([
  ['a tab', 'a:\tb\n'],
  ['an anchor', 'a: &x b\n'],
  ['an alias', 'a: *x\n'],
  ['a tag', 'a: !!str b\n'],
  ['a block', 'a: |\n  b\n'],
  ['a scalar that goes on', 'a: b\n  c\n'],
  ['a quote that goes on', 'a: "b\n  c"\n'],
  ['a key twice', 'a: b\na: c\n'],
  ['a key twice in brackets', '{ a: b, a: c }'],
  ['a merge key', 'a: { <<: { b: c } }\n'],
  ['a null key', '~: b\n'],
  ['two colons', 'a: b: c\n'],
  ['a second document', 'a: b\n---\nc: d\n'],
  ['an end of the document', 'a: b\n...\n'],
  ['a directive', '%YAML 1.2\n---\na: b\n'],
  ['a byte order mark', '\ufeffa: b\n'],
  ['a column that nothing has', 'a:\n    b: c\n  d: e\n'],
  ['a bracket too few', 'a: [b\n'],
  ['a bracket in the column of its key', 'a: [\nb\n]\n'],
  ['a quoted key that is too long for YAML', `"${'k'.repeat(1_025)}": v\n`],
  ['an empty text', ''],
])('%s is left to the full YAML parser', (_, text) => {
  expect(readPlain(text)).toBeUndefined();
});

test('the example and generated files are read', () => {
  for (const text of [EXAMPLE, JSON.stringify({ a: [{ b: 'c' }] }, null, 2), 'a:\n- b: { c: d }\n']) expect(readPlain(text)).toBeDefined();
});

test.each([
  { reader: 'plain YAML', begin: 'a: b\nc:\n  - ', fieldsMax: FIELDS_MAX },
  { reader: 'all of YAML', begin: 'a: &x b\nc:\n  - ', fieldsMax: 8 * FIELDS_MAX },
])('a map with more keys than any configuration is rejected before it is read to its end: $reader', ({ begin, fieldsMax }) => {
  const wide = (count: number) => `${begin}${Array.from({ length: count }, (_each, i) => `k${i}: v`).join('\n    ')}\n`;
  const told = (text: string) => readDocument({ name: 'f', text }).problems?.map(({ line, message }) => `${line}: ${message}`);
  expect(told(wide(FIELDS_MAX))).toEqual([]);
  // What is below it is no YAML, and nobody looks at it.
  expect(told(`${wide(fieldsMax + 2)}: [`)).toEqual([
    `3: the map has over ${FIELDS_MAX} keys, the maximum; the rest of the file is not read`,
  ]);
});

test('a flow map with too many keys is rejected in the same way', () => {
  const text = `{${Array.from({ length: 8 * FIELDS_MAX + 2 }, (_each, i) => `"k${i}":1`).join()}}`;
  const told = readDocument({ name: 'f', text }).problems?.map(({ message }) => message);
  expect(told).toEqual([`the map has over ${FIELDS_MAX} keys, the maximum; the rest of the file is not read`]);
});

const PIECES = [
  '\n',
  '\n',
  '\n  ',
  '\n    ',
  '\n',
  '  ',
  ' ',
  '- ',
  '-',
  ': ',
  ': ',
  ':',
  '{',
  '}',
  '[',
  ']',
  ', ',
  ',',
  '#',
  ' # c',
  '"',
  "'",
  '"q"',
  "'q'",
  'a',
  'b',
  'c: d',
  'e:',
  'key: k',
  '- key: v',
  '\r\n',
  '~',
  '<<',
  '&a',
  '*a',
  '|',
  '>',
  '?',
  '? ',
  '!t',
  '%',
  '@',
  '---',
  '...',
  '\t',
  '.',
  '-1',
  '\\',
  '\\n',
  'é',
  '😀',
  '\ufeff',
  '=',
  '//x',
  '0x1f',
  '^.*$',
];

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random(choices.length)]!;
}

function mixture(random: Random): string {
  return Array.from({ length: random(14) + 1 }, () => pick(random, PIECES)).join('');
}

/** A tree as somebody may have written it, with a few mistakes. */
function written(random: Random, { indent, depth }: { readonly indent: number; readonly depth: number }): string {
  const pad = ' '.repeat(indent);
  const lines: string[] = [];
  const isList = random(3) === 0;
  for (let i = random(3) + 1; i > 0; i -= 1) {
    const head = isList ? '- ' : `${pick(random, ['a', 'b', 'key', "'q r'", '"s"', 'x y'])}${i}${pick(random, [':', ': ', ':  '])}`;
    const isNested = depth > 0 && random(2) === 0;
    const scalar = pick(random, [
      'v',
      '10',
      '"q: #"',
      "'it''s'",
      '{ m: n }',
      '[1, 2]',
      '{ a: [b, { c: "d" }] }',
      'a b  ',
      '/x:y',
      '-5',
      '',
      '{\n' + `${pad}   a: b\n${pad} }`,
      'x # c',
      '"\\"\\\\"',
    ]);
    const inner = !isNested ? '' : written(random, { indent: indent + pick(random, [0, 1, 2, 2, 2, 4]), depth: depth - 1 });
    lines.push(
      `${pad}${isNested ? (isList && random(2) === 0 ? `- ${inner.trimStart()}` : `${head}${pick(random, ['', ' # c'])}\n${inner}`) : `${head}${head.endsWith(' ') ? '' : ' '}${scalar}\n`}`,
    );
    if (random(8) === 0) lines.push(pick(random, ['\n', `${pad}# c\n`, '# c\n', ' \n']));
  }
  return lines.join('');
}

test('random texts read the same plainly and by the full YAML parser', () => {
  const runs = seeded(48_000);
  const random = randomFrom(runs);
  let read = 0;
  for (let run = 0; run < runs.numRuns; run += 1) {
    const text = run % 3 === 0 ? mixture(random) : written(random, { indent: 0, depth: 3 });
    const plain = readPlain(text);
    if (plain === undefined) continue;
    read += 1;
    try {
      expect(plain).toEqual(readAny(text));
    } catch (error) {
      throw new Error(`seed ${runs.seed}: ${JSON.stringify(text)}: ${(error as Error).message}`, { cause: error });
    }
  }
  // Else it would show nothing.
  expect(read).toBeGreaterThan(runs.numRuns / 10);
});
