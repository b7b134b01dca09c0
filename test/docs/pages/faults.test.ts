/** The page of faults lists exactly the faults of the tests. */

import { readFileSync } from 'node:fs';
import { FAULTS } from '../../faults/scenes/all-faults';
import { tableRows } from '../../support/docs/markdown';

const PAGE = 'docs/generated/faults.md';
const NAMES = FAULTS.map(({ name }) => name);

test('every fault has a unique name', () => {
  expect(new Set(NAMES).size).toBe(NAMES.length);
});

function namesIn(file: string): string[] {
  const generated = readFileSync(file, 'utf8').split('<!-- begin faults')[1]!;
  return tableRows(file)
    .map(([name]) => name!)
    .filter((name) => generated.includes(`\n| ${name} |`));
}

test('each table of the run has exactly one row for each fault', () => {
  expect(namesIn(PAGE)).toEqual(NAMES);
  // What callers saw, and what was counted.
  expect(namesIn('test/faults/results.md')).toEqual([...NAMES, ...NAMES]);
});

test('the page describes each fault', () => {
  const page = readFileSync(PAGE, 'utf8');
  for (const { name, done } of FAULTS) expect(page).toContain(`| ${name} | ${done} |`);
});
