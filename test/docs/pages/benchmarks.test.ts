/** The results of the benchmarks have every row of the bar with its bound and of a full run, and the page has their figures. */

import { existsSync, readFileSync } from 'node:fs';
import { BAR, barOf } from '../../../bench/rows/bar';
import { selectRows, WORKLOADS } from '../../../bench/rows/rows';
import { TITLES } from '../../../bench/rows/decisions-report';
import { tableRows } from '../../support/docs/markdown';
import { runCommand } from '../../support/processes/command';

const PAGE = 'bench/results.md';

const text = readFileSync(PAGE, 'utf8');
const rows = tableRows(PAGE);

/** Rows that begin with these cells. */
function countOf(cells: readonly string[]): number {
  return rows.filter((row) => cells.every((cell, index) => row[index] === cell)).length;
}

/** Each section with its command. */
const SECTIONS = Array.from(
  text.matchAll(/<!-- begin (\S+): written by `([^`]+)` -->/g),
  ([, name, command]) => [name!, command!] as const,
);

test('the benchmarks measure the cost of a decision, and that it is atomic', () => {
  expect(SECTIONS.map(([name]) => name)).toEqual(expect.arrayContaining(['decisions', 'atomicity']));
});

test.each(SECTIONS)('the section %s is on the page once, complete, and names its command', (name, command) => {
  expect(text.split(`<!-- begin ${name}: written by \`${command}\` -->`).length).toBe(2);
  expect(text.split(`<!-- end ${name} -->`).length).toBe(2);
  expect(command).toBe(name === 'decisions' ? 'npm run bench' : `npm run bench -- ${name}`);
  expect(existsSync(`bench/${name}.ts`)).toBe(true);
});

test.each(barOf())('the bar has the row: $title', ({ title, atMost }) => {
  const [, , bound] = rows.find((row) => row[0] === title) ?? [];
  expect(bound).toBe(String(atMost));
});

test('a bound beside a target is that of the bar', () => {
  for (const { title, atMost, atMostWithMsetex, target } of BAR) {
    const [, , bound] = rows.find((row) => row[0] === title) ?? [];
    if (target !== undefined && bound !== undefined) expect([atMost, atMostWithMsetex].map(String)).toContain(bound);
  }
});

test('the page has exactly the rows of a full run', () => {
  const measured = selectRows({ form: 'full', hasNewestRedis: true });
  for (const { contender, workload, load } of measured) {
    if (load.kind === 'closed')
      expect(countOf([TITLES[contender], WORKLOADS[workload].title, `${load.connections} x ${load.streams}`])).toBe(1);
  }
  const servers = new Set(measured.map(({ contender }) => TITLES[contender]));
  const generated = text.slice(text.indexOf('<!-- begin decisions'), text.indexOf('<!-- end decisions'));
  const lines = rows.filter((row) => servers.has(row[0]!) && generated.includes(`| ${row.join(' | ')} |`));
  expect(lines.length).toBe(measured.length);
});

test.each(['docs/generated/benchmarks.md', 'docs/comparison.md', 'docs/index.md'])(
  'the figures of %s are those of the results',
  async (page) => {
    const { stdout, stderr } = await runCommand(process.execPath, [
      '--input-type=module',
      '-e',
      `import { readFileSync } from 'node:fs';
    import { withFigures } from './scripts/generate/benchmarks.mjs';
    const [page, results] = ['${page}', 'bench/results.md'].map((file) => readFileSync(file, 'utf8'));
    process.stdout.write(withFigures('${page}', { page, results }));`,
    ]);
    expect(stderr).toBe('');
    if (stdout !== readFileSync(page, 'utf8')) throw new Error(`${page} is out of date; run node scripts/generate/benchmarks.mjs`);
  },
);

test('the three figures of the front page are on the page of the benchmarks', () => {
  const figures = tableRows('docs/index.md').map(([, ...cells]) => cells);
  const cost = tableRows('docs/generated/benchmarks.md').filter(
    ([, request, streams]) => request === '100,000 keys' && streams === '4 x 64',
  );
  const rowOf = (server: string) => cost.find(([name]) => name === server)!;
  expect(figures).toHaveLength(3);
  for (const [weir, reference] of figures) {
    expect(rowOf('Weir, Redis, lean')).toContain(weir);
    expect(rowOf('target')).toContain(reference);
  }
});
