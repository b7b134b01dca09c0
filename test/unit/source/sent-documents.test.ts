/** Documents sent in pieces arrive unchanged. */

import { compileConfig } from '../../../src/configuration/compile/compile';
import { readDocument, type ConfigDocument } from '../../../src/configuration/yaml/config-document';
import { ConfigError } from '../../../src/configuration/problems/config-error';
import { DocumentCollector, partsOf, piecesOf } from '../../../src/configuration/yaml/text-pieces';
import type { ConfigFile } from '../../../src/configuration/yaml/yaml-text';

const ITEMS = 2_000;

const PIECE_LENGTH = 1024 * 1024;

/** As another process gets them, and then its thread. */
function sent(files: readonly ConfigFile[]): readonly ConfigDocument[] {
  const collector = new DocumentCollector();
  for (const file of files) {
    for (const part of partsOf(file)) collector.add(structuredClone(part));
  }
  return collector.take().map((document) => structuredClone('text' in document ? readDocument(document) : document));
}

function outcomeOf(files: readonly ConfigDocument[]): unknown {
  try {
    return compileConfig({ files, defaultAlgorithm: 'fixed_window', generation: 1 });
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

function longFile(name: string, { unit = 'hour' } = {}): ConfigFile {
  const items = Array.from(
    { length: ITEMS },
    (_, i) => `  - { key: k, value: v${i}, rate_limit: { unit: ${i === ITEMS - 1 ? unit : 'hour'}, requests_per_unit: ${i} } }\n`,
  );
  return { name, text: `domain: ${name}\ndescriptors:\n${items.join('')}` };
}

test.each([
  [
    'short ones',
    [
      { name: 'a', text: 'domain: a\n' },
      { name: 'b', text: 'domain: b\ndescriptors: [{ key: k }]\n' },
    ],
  ],
  ['long ones, one after the other', [longFile('a'), longFile('b'), { name: 'c', text: 'domain: c\n' }]],
  ['a problem at the end of a long one', [longFile('a', { unit: 'eon' })]],
  [
    'one of several pieces',
    [{ name: 'a', text: `domain: a\n#${'x'.repeat(3 * PIECE_LENGTH)}\ndescriptors: [{ key: k }]\n` }, longFile('b')],
  ],
  ['nothing but one', [{ name: 'a', text: '' }]],
  ['no YAML', [{ name: 'a', text: 'domain: [' }, longFile('b')]],
  [
    'an empty one, and one that is a list',
    [
      { name: 'a', text: '' },
      { name: 'b', text: '- a\n' },
    ],
  ],
  ['descriptors that are not a list', [{ name: 'a', text: 'domain: a\ndescriptors: { key: k }\n' }]],
  [
    'aliases and warnings',
    [{ name: 'a', text: 'domain: a\ndescriptors:\n  - &x { key: k, value: a, shadow_mode: true }\n  - { <<: *x, value: b }\n' }],
  ],
  ['more problems than are kept', [{ name: 'a', text: `domain: a\ndescriptors:\n${'  - { x: 1 }\n'.repeat(2 * ITEMS)}` }]],
  ['more problems with the YAML than are kept', [{ name: 'a', text: `domain: a\n${'domain: b\n'.repeat(2 * ITEMS)}` }]],
])('%s', (_, files) => {
  expect(outcomeOf(sent(files))).toEqual(outcomeOf(files));
});

test('no piece of a text is long, and documents are sent whole', () => {
  const text = 'x'.repeat(3 * PIECE_LENGTH);
  expect([...piecesOf({ name: 'a', text })].map(({ piece, isLast }) => [piece.length, isLast])).toEqual([
    [PIECE_LENGTH, false],
    [PIECE_LENGTH, false],
    [PIECE_LENGTH, true],
  ]);
  const document = readDocument({ name: 'a', text: 'domain: a\n' });
  expect([...partsOf(document)]).toEqual([{ document }]);
});
