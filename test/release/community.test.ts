/** A release has maintainers who are named and reachable; forms ask for what they say; dependabot is pointed at each folder with pins. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');
const FORMS = path.join('.github', 'ISSUE_TEMPLATE');

const read = (name: string) => readFileSync(path.join(ROOT, name), 'utf8');

describe('node scripts/release/people.mjs', () => {
  const TABLE = '| name | handle | contact | looks after |\n|---|---|---|---|\n';
  const ANN = '| Ann Example | @ann-example | ann@org.example | everything |\n';
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'weir-people-'));
    mkdirSync(path.join(folder, '.github'));
    mkdirSync(path.join(folder, 'scripts'));
    for (const name of ['CONTRIBUTING.md', 'scripts/process', 'scripts/release'])
      cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  function writeRows(rows: string): void {
    const [head = ''] = read('CONTRIBUTING.md').split(TABLE);
    writeFileSync(path.join(folder, 'CONTRIBUTING.md'), `${head}${TABLE}${rows}\nMore.\n`);
  }

  function people(...args: string[]) {
    return runCommand(process.execPath, [path.join(folder, 'scripts', 'release', 'people.mjs'), ...args]);
  }

  test.each([
    ['', 'CONTRIBUTING.md names nobody; write a row for each maintainer.\n'],
    ['| Ann | ann | ann@org.example | all |\n', 'The handle of Ann in CONTRIBUTING.md is ann; write it like @name or @org/team.\n'],
    ['| Ann | @ann | | all |\n', 'The contact of Ann in CONTRIBUTING.md is empty; write an address or a URL.\n'],
    ['| Ann | @ann | ann@org.example | |\n', 'A row of CONTRIBUTING.md has an empty cell; fill it in.\n'],
    [ANN, '.github/CODEOWNERS does not name the maintainers; run node scripts/release/people.mjs --write.\n'],
  ])('refuses the rows "%s"', async (rows, stderr) => {
    writeRows(rows);
    expect(await people()).toEqual({ exitCode: 1, stdout: '', stderr });
  });

  test('writes CODEOWNERS, and accepts the maintainers until the table has others', async () => {
    writeRows(`${ANN}| Ben | @ben | https://org.example/ben | the chart |\n`);
    expect(await people('--write')).toMatchObject({ exitCode: 0, stdout: '2 maintainers review changes.\n' });
    expect(readFileSync(path.join(folder, '.github', 'CODEOWNERS'), 'utf8')).toMatch(/^\* @ann-example @ben$/m);
    expect(await people()).toMatchObject({ exitCode: 0 });
    writeRows(ANN);
    expect(await people()).toMatchObject({ exitCode: 1 });
  });

  test('stops a release before anything is built', () => {
    expect(read('.github/workflows/release.yml')).toMatch(
      /^ {2}test:[\s\S]*run: node scripts\/release\/people\.mjs[\s\S]*\.ci\/run\n[\s\S]*^ {2}build:/m,
    );
  });

  test('names the present maintainers in CODEOWNERS, if there are any', async () => {
    const rows = read('CONTRIBUTING.md').split(TABLE)[1] ?? '';
    expect(existsSync(path.join(ROOT, '.github', 'CODEOWNERS'))).toBe(rows.startsWith('|'));
    expect((await runCommand(process.execPath, [path.join(ROOT, 'scripts', 'release', 'people.mjs')])).exitCode).toBe(
      rows.startsWith('|') ? 0 : 1,
    );
  });
});

describe('the forms of issues', () => {
  interface Form {
    readonly name: string;
    readonly description: string;
    readonly body: readonly { readonly type: string; readonly id: string; readonly attributes: { readonly label: string } }[];
  }

  const names = readdirSync(path.join(ROOT, FORMS)).filter((name) => name !== 'config.yml');

  test('each has a name, a description, questions, and one that must be answered', () => {
    expect(names).toEqual(['bug.yml', 'feature.yml', 'question.yml']);
    for (const name of names) {
      const form = parse(read(path.join(FORMS, name))) as Form;
      expect([form.name, form.description].every((text) => text.length > 5)).toBe(true);
      for (const { type, id, attributes } of form.body)
        expect({ type, id, label: attributes.label.length > 2 }).toMatchObject({
          type: expect.stringMatching(/^(?:input|textarea)$/) as string,
          label: true,
        });
      expect(read(path.join(FORMS, name))).toContain('validations: {required: true}');
      expect(new Set(form.body.map(({ id }) => id)).size).toBe(form.body.length);
    }
  });

  test('the commands and files that they name exist', () => {
    const main = read('src/main.ts');
    for (const text of [
      ...names.map((name) => read(path.join(FORMS, name))),
      read('.github/PULL_REQUEST_TEMPLATE.md'),
      read(path.join(FORMS, 'config.yml')),
    ]) {
      for (const [, command = ''] of text.matchAll(/`weir ([a-z]+)/g)) expect(main).toMatch(new RegExp(`\\b${command}(?:: \\{|')`));
      for (const [file] of text.matchAll(/(?:[\w.-]+\/)*[\w-]+\.(?:md|json)/g))
        expect({ file, exists: existsSync(path.join(ROOT, file)) }).toEqual({ file, exists: true });
    }
  });

  test('the roadmap names the form for features by its name', () => {
    expect(read('CONTRIBUTING.md')).toContain(`the form *${(parse(read(path.join(FORMS, 'feature.yml'))) as Form).name}*`);
  });
});

/** What is committed: without what is installed or built. */
function filesBelow(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = path.posix.join(folder, entry.name);
    if (!entry.isDirectory()) return [name];
    return ['node_modules', 'dist', '.cache', '.git'].includes(entry.name) ? [] : filesBelow(name);
  });
}

test('dependabot is pointed at the folder of each lock file, go.mod, Dockerfile and compose.yaml, and at the actions', () => {
  interface Update {
    readonly 'package-ecosystem': string;
    readonly directory?: string;
    readonly directories?: readonly string[];
  }
  const { updates } = parse(read('.github/dependabot.yml')) as { readonly updates: readonly Update[] };
  const covered = updates.flatMap(({ 'package-ecosystem': kind, directory, directories = [] }) =>
    [...directories, ...(directory === undefined ? [] : [directory])].map((each) => `${kind} ${each}`),
  );
  const KINDS: Readonly<Record<string, string>> = {
    'package-lock.json': 'npm',
    Dockerfile: 'docker',
    'compose.yaml': 'docker-compose',
    'go.mod': 'gomod',
  };
  const pinned = filesBelow('').flatMap((file) => {
    const kind = KINDS[path.basename(file)];
    return kind === undefined ? [] : [`${kind} ${path.posix.join('/', path.dirname(file))}`];
  });
  expect(pinned.length).toBeGreaterThan(4);
  expect(covered.toSorted()).toEqual([...pinned, 'github-actions /'].toSorted());
});
