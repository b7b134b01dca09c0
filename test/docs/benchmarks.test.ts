/** docs/benchmarks.md has what its commands write: every row of the bar with its bound, and a line for each row that a full run measures. */

import { readFileSync } from 'node:fs';
import { BAR } from '../../bench/bar';
import { cellsOf, CONNECTIONS, WORKLOADS } from '../../bench/cells';
import { TITLES } from '../../bench/decisions-report';
import { tableRows } from '../support/markdown';

const PAGE = 'docs/benchmarks.md';
const COMMANDS = { decisions: 'npm run bench', atomicity: 'npm run bench:atomicity' };

const text = readFileSync(PAGE, 'utf8');
const rows = tableRows(PAGE);

/** Rows that begin with these cells. */
function countOf(cells: readonly string[]): number {
  return rows.filter((row) => cells.every((cell, index) => row[index] === cell)).length;
}

test.each(Object.entries(COMMANDS))('the section %s is there once, whole, and names its command', (name, command) => {
  expect(text.split(`<!-- begin ${name}: written by \`${command}\` -->`).length).toBe(2);
  expect(text.split(`<!-- end ${name} -->`).length).toBe(2);
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  expect(scripts[command.replace('npm run ', '')]).toBe(`exec node scripts/bench.mjs ${name}`);
});

test.each(BAR)('the bar: $title', ({ title, atMost }) => {
  const [, , bound] = rows.find((row) => row[0] === title) ?? [];
  expect(bound).toBe(String(atMost));
});

test('every row of a full run is there, and no other', () => {
  const cells = cellsOf({ short: false, usage: false, target: false });
  const closed = cells.filter(({ load }) => load.kind === 'closed');
  for (const { contender, workload, load } of closed) {
    const streams = load.kind === 'closed' ? load.streams : 0;
    expect(countOf([TITLES[contender], WORKLOADS[workload].title, `${CONNECTIONS} x ${streams}`])).toBe(1);
  }
  const servers = new Set(cells.map(({ contender }) => TITLES[contender]));
  const generated = text.slice(text.indexOf('<!-- begin decisions'), text.indexOf('<!-- end decisions'));
  const lines = rows.filter((row) => servers.has(row[0]!) && generated.includes(`| ${row.join(' | ')} |`));
  expect(lines.length).toBe(cells.length);
});
