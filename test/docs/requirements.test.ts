/** Every promise of docs/requirements.md names a test that is there; a run fills in what the tests showed. */

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tableRows } from '../support/docs/markdown';
import { runCommand } from '../support/processes/command';

const PAGE = 'docs/requirements.md';
const VECTORS = 'test/vectors';

interface Row {
  readonly promise: string;
  readonly file: string;
  readonly title: string;
}

function rows(): Row[] {
  return tableRows(PAGE).map(([promise = '', test = '']) => {
    const [, file = '', title = ''] = /^`([^`]+)`(?:: (.*))?$/.exec(test) ?? [];
    return { promise, file, title };
  });
}

/** A test file, and the files of test/ that it imports: they may define its tests. */
function sourcesOf(file: string, seen = new Set<string>()): Set<string> {
  if (seen.has(file) || !existsSync(file)) return seen;
  seen.add(file);
  const text = readFileSync(file, 'utf8');
  for (const [, specifier = ''] of text.matchAll(/from '(\.[^']*)'/g)) {
    const imported = `${path.posix.join(path.posix.dirname(file), specifier)}.ts`;
    if (imported.startsWith('test/')) sourcesOf(imported, seen);
  }
  return seen;
}

/** Titles are in the sources, and those of timelines in the vectors. */
function textOf(file: string): string {
  const vectors = readdirSync(VECTORS).map((name) => path.join(VECTORS, name));
  return [...sourcesOf(file), ...vectors].map((source) => readFileSync(source, 'utf8').replaceAll(/\\(['`])/g, '$1')).join('\n');
}

test.each(rows())('$file: $title ($promise)', ({ file, title }) => {
  expect(file).toMatch(/^test\/.*\.test\.ts$/);
  expect(existsSync(file)).toBe(true);
  expect(textOf(file)).toContain(title);
});

describe('node scripts/generate/requirements.mjs', () => {
  const RUN = { commit: '0123456789', date: '2026-01-02', node: '20.1.2', form: 'long' };
  const HEAD = '| promise | test | last run |\n|---|---|---|\n';
  const BEGIN = '<!-- begin run: written by `node scripts/generate/requirements.mjs` -->';
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'weir-requirements-'));
    mkdirSync(path.join(folder, 'results'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  interface TestResult {
    readonly file?: string;
    readonly name: string;
    readonly status?: string;
    readonly figures?: readonly string[];
  }

  function keep(stage: string, tests: readonly TestResult[], run = RUN): void {
    const withFile = tests.map((test) => ({ file: 'test/a.test.ts', status: 'passed', figures: [], ...test }));
    writeFileSync(path.join(folder, 'results', `${stage}.json`), JSON.stringify({ stage, run, tests: withFile }));
  }

  async function fill(page: string): Promise<{ readonly exitCode: number; readonly stderr: string; readonly page: string }> {
    const file = path.join(folder, 'page.md');
    writeFileSync(file, page);
    const { exitCode, stderr } = await runCommand(process.execPath, [
      'scripts/generate/requirements.mjs',
      path.join(folder, 'results'),
      file,
    ]);
    return { exitCode, stderr, page: readFileSync(file, 'utf8') };
  }

  test('writes the run, the number of tests and their figures', async () => {
    keep('unit', [
      { name: 'a adds', figures: ['5 cases'] },
      { name: 'b adds', figures: ['5 cases', '7 ms'], status: 'flaky' },
    ]);
    const row = '| it adds | `test/a.test.ts`: adds |';
    expect(await fill(`${BEGIN}\n<!-- end run -->\n\n${HEAD}${row} - |\n`)).toEqual({
      exitCode: 0,
      stderr: '',
      page: `${BEGIN}\nLast run: commit 0123456789, 2026-01-02, Node 20.1.2, long form; 2 tests in 1 files passed.\n<!-- end run -->\n\n${HEAD}${row} 2 tests; 2 x 5 cases; 7 ms |\n`,
    });
  });

  test.each([
    ['no test has the title', { name: 'a subtracts' }, 'test/a.test.ts: adds: no test of this file that ran has this text in its name'],
    ['no test of the file ran', { name: 'a adds', file: 'test/b.test.ts' }, 'test/a.test.ts: adds: no such test ran'],
    ['a test failed', { name: 'a adds', status: 'failed' }, 'a test failed: a adds'],
    ['a test was skipped', { name: 'a adds', status: 'pending' }, 'a test was skipped: a adds'],
  ])('fails and writes nothing when %s', async (_, result, text) => {
    keep('unit', [result]);
    const page = `${HEAD}| it adds | \`test/a.test.ts\`: adds | - |\n`;
    const filled = await fill(page);
    expect(filled).toMatchObject({ exitCode: 1, page });
    expect(filled.stderr).toContain(text);
  });

  test('fails when the results are of two commits', async () => {
    keep('unit', [{ name: 'a adds' }]);
    keep('lua', [{ name: 'b adds' }], { ...RUN, commit: '9876543210' });
    const filled = await fill(HEAD);
    expect(filled.exitCode).toBe(1);
    expect(filled.stderr).toContain('lua: commit 9876543210, long form');
  });

  test.each([
    ['has a test without figures', JSON.stringify({ stage: 'unit', run: RUN, tests: [{ file: 'a', name: 'b', status: 'passed' }] })],
    ['has no run', JSON.stringify({ stage: 'unit', tests: [] })],
    ['is cut off', '{"stage":"unit","run"'],
    ['is not an object', 'null'],
  ])('names a file of results that %s', async (_, text) => {
    keep('lua', [{ name: 'a adds' }]);
    writeFileSync(path.join(folder, 'results', 'unit.json'), text);
    const filled = await fill(HEAD);
    expect(filled).toMatchObject({ exitCode: 1, page: HEAD });
    expect(filled.stderr).toBe(
      `${path.join(folder, 'results', 'unit.json')} is not complete, or of an older version. Run its stage again, or remove it.\n`,
    );
  });
});

describe('the last line of a run of all stages', () => {
  const PROMISE = '| it adds | `test/a.test.ts`: adds | - |\n';
  const PASSED = { name: 'unit', passed: 1, failed: 0, skipped: 0, seconds: 1 };
  const TESTS = [{ file: 'test/a.test.ts', name: 'a adds', status: 'passed', seconds: 1, figures: [] }];
  const FILLED = '| it adds | `test/a.test.ts`: adds | 1 test |\n';

  async function check(results: readonly unknown[], form: 'short' | 'long'): Promise<unknown> {
    const folder = mkdtempSync(path.join(tmpdir(), 'weir-requirements-'));
    try {
      const file = path.join(folder, 'page.md');
      writeFileSync(file, PROMISE);
      const run = { commit: '0123456789', date: '2026-01-02', node: '20.1.2', form };
      const { stdout, stderr } = await runCommand(process.execPath, [
        '--input-type=module',
        '--eval',
        `import { checkRequirements } from './scripts/test/requirements.mjs';
        import { lineOf } from './scripts/test/result.mjs';
        const printed = [];
        const print = (line) => printed.push(line);
        const result = checkRequirements(${JSON.stringify(results)}, { run: ${JSON.stringify(run)}, file: ${JSON.stringify(file)}, print });
        console.log(JSON.stringify({ printed, line: lineOf(result) }));`,
      ]);
      if (stdout === '') throw new Error(stderr);
      return { ...(JSON.parse(stdout) as object), page: readFileSync(file, 'utf8') };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test('counts one test, and fills the page in only after the long form', async () => {
    const results = [
      { name: 'types', passed: 1, failed: 0, skipped: 0, seconds: 1 },
      { ...PASSED, tests: TESTS },
    ];
    const line = 'requirements    0.0 s   1 passed, 0 failed';
    expect(await check(results, 'short')).toEqual({ printed: [], line, page: PROMISE });
    expect(await check(results, 'long')).toEqual({ printed: [], line, page: FILLED });
  });

  test('names each wrong row and what to do', async () => {
    expect(await check([{ ...PASSED, tests: TESTS.map((each) => ({ ...each, name: 'a subtracts' })) }], 'long')).toEqual({
      printed: [
        'docs/requirements.md:1: test/a.test.ts: adds: no test of this file that ran has this text in its name. Copy a part of the name of a test.',
      ],
      line: 'requirements    0.0 s   0 passed, 1 failed   (1 wrong in docs/requirements.md: see above)',
      page: PROMISE,
    });
  });

  test('names the stages that failed or were skipped, and checks nothing', async () => {
    const failed = { ...PASSED, name: 'lua', failed: 1 };
    const skipped = { ...PASSED, name: 'clients', passed: 0, skipped: 1, note: 'skipped: no Go' };
    expect(await check([{ ...PASSED, tests: [] }, failed, skipped], 'long')).toEqual({
      printed: [],
      line: 'requirements    0.0 s   0 passed, 0 failed, 1 skipped   (not checked, because of lua, clients)',
      page: PROMISE,
    });
  });
});
