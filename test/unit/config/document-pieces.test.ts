/** A document that comes in pieces from elsewhere makes the same rules, and has the same problems, as one read here. */

import { compileConfig } from '../../../src/config/compile';
import { readDocument, type ConfigDocument } from '../../../src/config/config-document';
import { ConfigError } from '../../../src/config/config-error';
import { PieceCollector, piecesOf } from '../../../src/config/document-pieces';
import type { ConfigFile } from '../../../src/config/yaml-text';

const ITEMS = 2_000;
const PIECE_ITEMS_MAX = 500;

/** As another thread sends them. */
function sent(files: readonly ConfigFile[]): { readonly documents: readonly ConfigDocument[]; readonly itemsMax: number } {
  const collector = new PieceCollector();
  let itemsMax = 0;
  for (const file of files) {
    for (const piece of piecesOf(readDocument(file))) {
      if ('items' in piece) itemsMax = Math.max(itemsMax, piece.items.length);
      collector.add(structuredClone(piece));
    }
  }
  return { documents: collector.finish(), itemsMax };
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
  const items = Array.from({ length: ITEMS }, (_, i) => `  - { key: k, value: v${i}, rate_limit: { unit: ${i === ITEMS - 1 ? unit : 'hour'}, requests_per_unit: ${i} } }\n`);
  return { name, text: `domain: ${name}\ndescriptors:\n${items.join('')}` };
}

test.each([
  ['short ones', [{ name: 'a', text: 'domain: a\n' }, { name: 'b', text: 'domain: b\ndescriptors: [{ key: k }]\n' }]],
  ['long ones, one after the other', [longFile('a'), longFile('b'), { name: 'c', text: 'domain: c\n' }]],
  ['a problem at the end of a long one', [longFile('a', { unit: 'eon' })]],
  ['no YAML', [{ name: 'a', text: 'domain: [' }, longFile('b')]],
  ['an empty one, and one that is a list', [{ name: 'a', text: '' }, { name: 'b', text: '- a\n' }]],
  ['descriptors that are no list', [{ name: 'a', text: 'domain: a\ndescriptors: { key: k }\n' }]],
  ['aliases and warnings', [{ name: 'a', text: 'domain: a\ndescriptors:\n  - &x { key: k, value: a, shadow_mode: true }\n  - { <<: *x, value: b }\n' }]],
  ['more problems than are kept', [{ name: 'a', text: `domain: a\ndescriptors:\n${'  - { x: 1 }\n'.repeat(2 * ITEMS)}` }]],
  ['more problems with the YAML than are kept', [{ name: 'a', text: `domain: a\n${'domain: b\n'.repeat(2 * ITEMS)}` }]],
])('%s', (_, files) => {
  const { documents, itemsMax } = sent(files);
  expect(outcomeOf(documents)).toEqual(outcomeOf(files));
  expect(itemsMax).toBeLessThanOrEqual(PIECE_ITEMS_MAX);
});
