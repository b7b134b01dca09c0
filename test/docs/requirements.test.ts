/** The page of promises has the head of each test file, and a run of all tests fills in what they showed. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tableRows } from '../support/docs/markdown';
import { sourceFiles } from '../support/docs/source-files';
import { testHeads } from '../support/docs/test-heads';
import { runCommand } from '../support/processes/command';

const PAGE = 'docs/generated/requirements.md';
const SCRIPT = 'scripts/generate/requirements.mjs';

const WORDS_MAX = 30;

/** The sentences of a promise begin with a subject: a capital, a number or code. They end with a full stop. */
const SENTENCES = /^(?!(?:What|Which|Whether|How|Who|Those|That of) )(?:[A-Z\d`][^:]*?[^.:]\.(?: (?=[A-Z\d`])|$)){1,2}$/;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-requirements-'));
  for (const name of ['docs/generated', 'results', 'test/unit/rule']) mkdirSync(path.join(folder, name), { recursive: true });
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe('The promises of docs/generated/requirements.md', () => {
  const heads = testHeads().map(({ file, lines }) => ({ file, promise: lines.join(' ') }));

  test('each test file has one row, and each row a test file', () => {
    const files = sourceFiles({ folder: 'test' }).flatMap(({ name }) => (name.endsWith('.test.ts') ? [`test/${name}`] : []));
    const rows = tableRows(PAGE).map(([, link = '']) => /\(\.\.\/\.\.\/([^)]*)\)/.exec(link)?.[1]);
    expect(files.length).toBeGreaterThan(400);
    expect(rows.toSorted()).toEqual(files.toSorted());
  });

  test(`each is one or two whole sentences of at most ${WORDS_MAX} words`, () => {
    const isPromise = (text: string) => SENTENCES.test(text.replaceAll(/`[^`]*`/g, '`code`')) && text.split(' ').length <= WORDS_MAX;
    expect(
      ['The sum: exact.', 'What a sum is.', 'a sum is exact.', 'A sum is exact', `A sum is ${'very '.repeat(WORDS_MAX)}exact.`].filter(
        isPromise,
      ),
    ).toEqual([]);
    const faults = heads.filter(({ promise }) => !isPromise(promise)).map(({ file, promise }) => `${file}: ${promise}`);
    if (faults.length > 0)
      throw new Error(`Write a sentence with a subject and a verb at the head of each of these files:\n${faults.join('\n')}`);
  });

  test('each promise differs from those of all other files', () => {
    expect(new Set(heads.map(({ promise }) => promise)).size).toBe(heads.length);
  });

  test(`the page is what ${SCRIPT} writes`, async () => {
    const page = readFileSync(PAGE, 'utf8');
    const code = `import { readFileSync } from 'node:fs';
      import { requirementsPage } from './scripts/generate/requirements/page.mjs';
      process.stdout.write(requirementsPage({ root: '.', page: readFileSync('${PAGE}', 'utf8') }));`;
    const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '--eval', code]);
    if (stdout !== page) throw new Error(`${PAGE} is out of date; run node ${SCRIPT}\n${stderr}`);
  });
});

const FILE = 'test/unit/rule/a.test.ts';
const OTHER = 'test/unit/rule/b.test.ts';
const RUN = { commit: '0123456789', date: '2026-01-02', node: '20.1.2', form: 'long' };

/** Writes two test files, and a page that is older than their promises. */
function writeRoot(): void {
  writeFileSync(
    path.join(folder, FILE),
    `/**\n * A sum is\n * exact.\n *\n * The second paragraph is not a promise.\n */\ntest('adds', add);\n`,
  );
  writeFileSync(path.join(folder, OTHER), '/** A product `a | b` is exact. */\n');
  writeFileSync(path.join(folder, PAGE), `Last run: then.\n| A product. | [b](../../${OTHER}) | 9; 3 ms |\n`);
}

function pageNow(): string {
  return readFileSync(path.join(folder, PAGE), 'utf8');
}

function rowOf(name: 'a' | 'b', lastRun: string): string {
  const promise = name === 'a' ? 'A sum is exact.' : 'A product `a \\| b` is exact.';
  return `| ${promise} | [unit/rule/${name}](../../test/unit/rule/${name}.test.ts) | ${lastRun} |`;
}

describe(`node ${SCRIPT}`, () => {
  interface TestResult {
    readonly file?: string;
    readonly name: string;
    readonly status?: string;
    readonly figures?: readonly string[];
  }

  beforeEach(writeRoot);

  function keep(stage: string, tests: readonly TestResult[], run = RUN): void {
    const withFile = tests.map((test) => ({ file: FILE, status: 'passed', figures: [], ...test }));
    writeFileSync(path.join(folder, 'results', `${stage}.json`), JSON.stringify({ stage, run, tests: withFile }));
  }

  async function generate(): Promise<{ readonly exitCode: number; readonly stderr: string; readonly page: string }> {
    const { exitCode, stderr } = await runCommand(process.execPath, [SCRIPT, path.join(folder, 'results'), folder]);
    return { exitCode, stderr, page: pageNow() };
  }

  test('writes the promises, and keeps the last run of each file without results', async () => {
    const { exitCode, stderr } = await runCommand(process.execPath, [SCRIPT, '', folder]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(pageNow()).toContain(
      `\nLast run: then.\n\n## Decisions\n\n| promise | test | tests in the last run |\n|---|---|---|\n${rowOf('a', '-')}\n${rowOf('b', '9; 3 ms')}\n`,
    );
  });

  test('writes the run, the number of tests and their figures', async () => {
    keep('unit', [
      { name: 'a adds', figures: ['7 | 8', '1,000 random cases'] },
      { name: 'b adds', figures: ['7 | 8', '5 ms', '50 random cases'], status: 'flaky' },
      { name: 'c adds', status: 'pending' },
    ]);
    const { exitCode, page } = await generate();
    expect(exitCode).toBe(0);
    expect(page).toContain(
      '\nLast run: commit 0123456789, 2026-01-02, Node 20.1.2, long form; 2 tests in 1 files passed. The rows of the other files show an earlier run.\n',
    );
    expect(page).toContain(`\n${rowOf('a', '2, 1 skipped; 1,050 random cases; 2 x 7 \\| 8; +1')}\n${rowOf('b', '9; 3 ms')}\n`);
  });

  test('shows two figures of a file, and fewer long ones', async () => {
    const long = 'x'.repeat(50);
    keep('unit', [
      { name: 'adds', figures: ['1', '2', '3', '4', '5'] },
      { name: 'adds', file: OTHER, figures: [long, long.toUpperCase()] },
    ]);
    const { page } = await generate();
    expect(page).toContain(rowOf('a', '1; 1; 2; +3'));
    expect(page).toContain(rowOf('b', `1; ${long}; +1`));
  });

  test('names a file whose folder has no section', async () => {
    keep('unit', [{ name: 'a adds' }]);
    writeFileSync(path.join(folder, 'test', 'c.test.ts'), '/** A difference is exact. */\n');
    const before = pageNow();
    const { exitCode, stderr, page } = await generate();
    expect({ exitCode, page }).toEqual({ exitCode: 1, page: before });
    expect(stderr).toContain('test/c.test.ts has no section. Add its folder to SECTIONS in scripts/generate/requirements/sections.mjs.');
  });

  test('writes nothing when a test failed', async () => {
    keep('unit', [{ name: 'a adds', status: 'failed' }]);
    const before = pageNow();
    const { exitCode, stderr, page } = await generate();
    expect({ exitCode, page }).toEqual({ exitCode: 1, page: before });
    expect(stderr).toBe(`${FILE}: a test failed: a adds. Fix it, and run its stage again.\n`);
  });

  test.each([
    ['commits', { ...RUN, commit: '9876543210' }, 'lua: commit 9876543210, long form'],
    ['forms', { ...RUN, form: 'short' }, 'lua: commit 0123456789, short form'],
  ])('writes nothing when the results are of two %s', async (_, run, line) => {
    keep('unit', [{ name: 'a adds' }]);
    keep('lua', [{ name: 'b adds' }], run);
    const before = pageNow();
    const { exitCode, stderr, page } = await generate();
    expect({ exitCode, page }).toEqual({ exitCode: 1, page: before });
    expect(stderr).toContain(line);
  });

  test.each([
    ['has a test without figures', JSON.stringify({ stage: 'unit', run: RUN, tests: [{ file: 'a', name: 'b', status: 'passed' }] })],
    ['has no run', JSON.stringify({ stage: 'unit', tests: [] })],
    ['is cut off', '{"stage":"unit","run"'],
    ['is not an object', 'null'],
  ])('names a file of results that %s', async (_, text) => {
    keep('lua', [{ name: 'a adds' }]);
    writeFileSync(path.join(folder, 'results', 'unit.json'), text);
    const before = pageNow();
    const { exitCode, stderr, page } = await generate();
    expect({ exitCode, page }).toEqual({ exitCode: 1, page: before });
    expect(stderr).toBe(
      `${path.join(folder, 'results', 'unit.json')} is not complete, or of an older version. Run its stage again, or remove it.\n`,
    );
  });
});

describe('the last line of a run of all stages', () => {
  const PASSED = { name: 'unit', passed: 2, failed: 0, skipped: 0, seconds: 1 };
  const TESTS = [FILE, OTHER].map((file) => ({ file, name: 'a adds', status: 'passed', seconds: 1, figures: [] }));

  beforeEach(writeRoot);

  async function check(
    results: readonly unknown[],
    form: 'short' | 'long',
  ): Promise<{ readonly printed: string[]; readonly line: string }> {
    const { stdout, stderr } = await runCommand(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { checkRequirements } from './scripts/test/requirements.mjs';
      import { lineOf } from './scripts/test/result.mjs';
      const printed = [];
      const print = (line) => printed.push(line);
      const options = { run: ${JSON.stringify({ ...RUN, form })}, root: ${JSON.stringify(folder)}, print };
      const result = checkRequirements(${JSON.stringify(results)}, options);
      console.log(JSON.stringify({ printed, line: lineOf(result) }));`,
    ]);
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as { readonly printed: string[]; readonly line: string };
  }

  test('counts one test, and fills the page in only after the long form', async () => {
    const before = pageNow();
    const results = [
      { name: 'types', passed: 1, failed: 0, skipped: 0, seconds: 1 },
      { ...PASSED, tests: TESTS },
    ];
    const line = 'requirements    0.0 s   1 passed, 0 failed';
    expect(await check(results, 'short')).toEqual({ printed: [], line });
    expect(pageNow()).toBe(before);
    expect(await check(results, 'long')).toEqual({ printed: [], line });
    expect(pageNow()).toContain(`${rowOf('a', '1')}\n${rowOf('b', '1')}`);
  });

  test('names each file that no stage ran, and writes nothing', async () => {
    const before = pageNow();
    expect(await check([{ ...PASSED, tests: TESTS.slice(1) }], 'long')).toEqual({
      printed: [`${FILE}: no stage of scripts/test/stages.mjs ran it.`],
      line: 'requirements    0.0 s   0 passed, 1 failed   (1 wrong for docs/generated/requirements.md: see above)',
    });
    expect(pageNow()).toBe(before);
  });

  test.each(['test/kubernetes-api/api-server.test.ts', 'test/parity/slot-cost.test.ts'])(
    'expects %s after the long form alone',
    async (file) => {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), '/** A difference is exact. */\n');
      const results = [{ ...PASSED, tests: TESTS }];
      expect((await check(results, 'short')).printed).toEqual([]);
      expect((await check(results, 'long')).printed).toEqual([`${file}: no stage of scripts/test/stages.mjs ran it.`]);
    },
  );

  test('names each file whose tests were all skipped, and writes nothing', async () => {
    const before = pageNow();
    const results = [{ ...PASSED, tests: TESTS.map((each) => (each.file === FILE ? { ...each, status: 'pending' } : each)) }];
    expect((await check(results, 'long')).printed).toEqual([`${FILE}: all of its tests were skipped. Install what they need.`]);
    expect(pageNow()).toBe(before);
  });

  test('names the stages that failed or were skipped, and checks nothing', async () => {
    const before = pageNow();
    const failed = { ...PASSED, name: 'lua', failed: 1 };
    const skipped = { ...PASSED, name: 'clients', passed: 0, skipped: 1, note: 'skipped: no Go' };
    expect(await check([{ ...PASSED, tests: [] }, failed, skipped], 'long')).toEqual({
      printed: [],
      line: 'requirements    0.0 s   0 passed, 0 failed, 1 skipped   (not checked, because of lua, clients)',
    });
    expect(pageNow()).toBe(before);
  });
});
