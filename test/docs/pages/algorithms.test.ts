/** The page of algorithms has a section for each algorithm, with YAML that compiles. */

import { readFileSync } from 'node:fs';
import { ALGORITHMS } from '../../../src/domain/algorithm/algorithms';
import { fencedBlocks } from '../../support/docs/markdown';
import { compileText } from '../../unit/compile/compile-config';

const FILE = 'docs/algorithms.md';
const page = readFileSync(FILE, 'utf8');

/** Sections that are about all of them. */
const COMMON = ['Priority', 'Fair shares', 'Leases', 'Memory', 'When the clock steps'];

test('the page has a section for each algorithm, in the order of the code', () => {
  const sections = Array.from(page.matchAll(/^## (.+)$/gm), ([, title]) => title!);
  expect(sections).toEqual([...ALGORITHMS, ...COMMON]);
});

test('the page names only algorithms that exist', () => {
  const named = Array.from(page.matchAll(/\b[a-z_]+_(?:bucket|window|log|counter)\b/g), ([name]) => name);
  expect(named.filter((name) => !ALGORITHMS.some((algorithm) => algorithm === name))).toEqual([]);
});

test('the YAML compiles, with one block for each algorithm', () => {
  const blocks = fencedBlocks(FILE, 'yaml');
  expect(blocks.map((block) => /algorithm: (\w+)/.exec(block)?.[1])).toEqual([...ALGORITHMS]);
  for (const block of blocks) expect(() => compileText(block)).not.toThrow();
});
