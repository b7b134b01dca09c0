/** The page of faults lists exactly the faults of the tests. */

import { readFileSync } from 'node:fs';
import { FAULTS } from '../../faults/scenes/all-faults';
import { tableRows } from '../../support/docs/markdown';

const PAGE = 'docs/faults.md';
const NAMES = FAULTS.map(({ name }) => name);

test('every fault has a unique name', () => {
  expect(new Set(NAMES).size).toBe(NAMES.length);
});

test('each table of the run has exactly one row for each fault', () => {
  const generated = readFileSync(PAGE, 'utf8').split('<!-- begin faults')[1]!;
  const firstCells = tableRows(PAGE)
    .map(([name]) => name!)
    .filter((name) => generated.includes(`\n| ${name} |`));
  // What callers saw, and what was counted.
  expect(firstCells).toEqual([...NAMES, ...NAMES]);
});

test('the page describes each fault', () => {
  const page = readFileSync(PAGE, 'utf8');
  for (const { name, done } of FAULTS) expect(page).toContain(`- **${name}**: ${done}.`);
});
