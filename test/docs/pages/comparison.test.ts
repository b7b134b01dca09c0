/** Each cell of the comparison names a test of Weir that exists, or a source at a dated commit, and what it says of figures is what the results say. */

import { existsSync, readFileSync } from 'node:fs';
import { tableRows } from '../../support/docs/markdown';

const PAGE = 'docs/comparison.md';
const page = readFileSync(PAGE, 'utf8');
const results = readFileSync('bench/results.md', 'utf8');

const SOURCE = /\]\((https:\/\/github\.com\/[\w.-]+\/[\w.-]+)\/(?:blob|tree)\/([^/)]+)(?:\/[^)]*)?\)/g;

/** A name, Weir, and each other service: the head, and a row for each feature. */
const [[, , ...peers] = [], ...features] = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && line.includes('github.com'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

function sourcesOf(cell: string): { readonly repository: string; readonly commit: string }[] {
  return Array.from(cell.matchAll(SOURCE), ([, repository, commit]) => ({ repository: repository!, commit: commit! }));
}

test('the head names each other service at a whole commit, with the day of the commit', () => {
  expect(peers).toHaveLength(3);
  for (const peer of peers) {
    expect(sourcesOf(peer)).toHaveLength(1);
    expect(sourcesOf(peer)[0]!.commit).toMatch(/^[0-9a-f]{40}$/);
    expect(peer).toMatch(/, \d{4}-\d\d-\d\d$/);
  }
});

describe('the features', () => {
  test('each has a cell for every service', () => {
    expect(features.length).toBeGreaterThan(9);
    for (const row of features) expect({ row: row[0], cells: row.length }).toEqual({ row: row[0], cells: 2 + peers.length });
  });

  test('each cell of Weir links tests that exist', () => {
    for (const [name, weir = ''] of features) {
      const tests = Array.from(weir.matchAll(/\[test\]\(\.\.\/(test\/[^)]+\.test\.ts)\)/g), ([, file]) => file!);
      expect({ name, tests: tests.length > 0, missing: tests.filter((file) => !existsSync(file)) }).toEqual({
        name,
        tests: true,
        missing: [],
      });
    }
  });

  test('each cell of another service links its source at the commit of the head', () => {
    for (const [name, , ...others] of features) {
      for (const [index, cell] of others.entries()) {
        const wrong = sourcesOf(cell).filter(({ repository, commit }) => !peers[index]!.includes(`${repository}/tree/${commit}`));
        expect({ name, cell, sources: sourcesOf(cell).length > 0, wrong }).toEqual({ name, cell, sources: true, wrong: [] });
      }
    }
  });
});

test('a source outside the table has a whole commit, and the day on which it was read', () => {
  const outside = page.split('\n').filter((line) => !line.startsWith('|') && line.includes('github.com'));
  expect(outside).toHaveLength(1);
  for (const line of outside) {
    expect(sourcesOf(line).every(({ commit }) => /^[0-9a-f]{40}$/.test(commit))).toBe(true);
    expect(line).toMatch(/, read \d{4}-\d\d-\d\d\)/);
  }
});

describe('what the pages say in words', () => {
  /** Median figures of a row of the cost of a decision. */
  function costOf(server: string, request: string, streams: string): Readonly<Record<'cpu' | 'redis' | 'perSecond' | 'rss', number>> {
    const [row = []] = tableRows('bench/results.md').filter((cells) =>
      [server, request, streams].every((cell, index) => cells[index] === cell),
    );
    const header = results.split('\n').find((line) => line.startsWith('| server | request | streams |'))!;
    const columns = header.slice(2, -2).split(' | ');
    const figure = (column: string) => Number.parseFloat((row[columns.indexOf(column)] ?? '').replaceAll(',', ''));
    return { cpu: figure('CPU µs'), redis: figure('Redis CPU µs'), perSecond: figure('per second'), rss: figure('RSS MiB') };
  }

  const pair = (request: string, streams: string) => ({
    weir: costOf('Weir, Redis, lean', request, streams),
    target: costOf('target', request, streams),
  });

  test('the README has the figures of the last run, rounded', () => {
    const { weir, target } = pair('100,000 keys', '4 x 64');
    const thousands = (figure: number) => (Math.round(figure / 1000) * 1000).toLocaleString('en');
    expect(readFileSync('README.md', 'utf8')).toContain(
      `decided ${thousands(weir.perSecond)} requests a second, at ${weir.cpu.toFixed(1)} µs of Weir's CPU each; envoyproxy/ratelimit beside it ${thousands(target.perSecond)}, at ${Math.trunc(target.cpu)} µs.`,
    );
    expect(results).toContain('\nThe target is reference,');
  });

  test('Weir costs Redis more with ten descriptors and alone on a connection, and takes over twice the memory', () => {
    for (const [request, streams] of [
      ['100,000 keys, 10 descriptors', '4 x 64'],
      ['100,000 keys, 20 descriptors', '4 x 64'],
      ['100,000 keys', '1 x 1'],
    ] as const) {
      const { weir, target } = pair(request, streams);
      expect(weir.redis).toBeGreaterThan(target.redis);
    }
    const { weir, target } = pair('100,000 keys', '4 x 64');
    expect(weir.rss).toBeGreaterThan(2 * target.rss);
  });

  test('limitador in memory has the lower p99 at few requests a second', () => {
    const row = tableRows('bench/results.md').find(([load]) => load === 'open, 2,000/s')!;
    expect(Number(row.at(-1))).toBeGreaterThan(1);
  });

  test('the page says that no release is published while the roadmap waits for it', () => {
    expect(page.includes('no published release yet')).toBe(readFileSync('CONTRIBUTING.md', 'utf8').includes('The first published release'));
  });
});
