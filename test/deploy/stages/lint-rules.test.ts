/** The linter finds each kind of mistake. */

import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const ROOT = path.resolve(__dirname, '../../..');

/** A path of requests, on which objects must not begin with a spread. */
const HOT = 'src/domain/decide/hot.ts';

/** For each rule a text that breaks it alone. The declarations of `PRELUDE` go before each. */
const MISTAKES: Readonly<Record<string, string>> = {
  'eslint(eqeqeq)': 'export const is = text == name;',
  'eslint(max-lines-per-function)': `export function long(): void {\n${'  run(1);\n'.repeat(61)}}`,
  'eslint(no-restricted-properties)': 'export const now = performance.now();',
  'eslint(no-unsafe-optional-chaining)': 'export const size = (maybe?.name)!.length + (maybe?.name as string).length;',
  'eslint(no-unused-vars)': 'const unused = 1;',
  'eslint(no-useless-assignment)': 'export function last(): number {\n  let one = 1;\n  run(one);\n  one = 2;\n  return 3;\n}',
  'eslint(prefer-const)': 'let one = 1;\nrun(one);',
  'eslint(preserve-caught-error)': "try {\n  run(1);\n} catch (error) {\n  run(String(error));\n  throw new Error('no');\n}",
  'typescript(array-type)': 'export const list: Array<string> = [];',
  'typescript(await-thenable)': 'export async function wait(): Promise<void> {\n  await promise();\n  await text;\n}',
  'typescript(ban-ts-comment)': '// @ts-ignore\nrun(1);',
  'typescript(consistent-type-definitions)': 'export type Shape = { readonly name: string };',
  'typescript(consistent-type-imports)': "import { Stats } from 'node:fs';\nexport const stats: Stats | undefined = undefined;",
  'typescript(no-base-to-string)': 'export const shown = String(object);',
  'typescript(no-confusing-void-expression)': 'export const call = (): void => run(1);',
  'typescript(no-deprecated)': 'run(old());',
  'typescript(no-explicit-any)': 'export function take(value: any): void {\n  run(value as unknown);\n}',
  'typescript(no-floating-promises)': 'promise();',
  'typescript(no-for-in-array)': 'for (const index in texts) run(index);',
  'typescript(no-misused-promises)': 'if (promise()) run(1);',
  'typescript(no-misused-spread)': 'export const copy = { ...texts };',
  'typescript(no-non-null-assertion)': 'run(maybe!.name);',
  'typescript(no-redundant-type-constituents)': "export type Either = string | 'one';",
  'typescript(no-unnecessary-boolean-literal-compare)': 'if (flag === true) run(1);',
  'typescript(no-unnecessary-condition)': 'if (object) run(1);',
  'typescript(no-unnecessary-template-expression)': "run(`${'one'}`);",
  'typescript(no-unnecessary-type-arguments)':
    'export function set<Of = string>(value: Of): Of {\n  return value;\n}\nrun(set<string>(text));',
  'typescript(no-unnecessary-type-assertion)': 'run(text as string);',
  'typescript(no-unnecessary-type-conversion)': 'run(String(text));',
  'typescript(no-unnecessary-type-parameters)': 'export function show<Of>(value: Of): void {\n  run(value);\n}',
  'typescript(no-unsafe-argument)': 'take(anything());',
  'typescript(no-unsafe-assignment)': 'export const loose = anything();',
  'typescript(no-unsafe-call)': 'anything()();',
  'typescript(no-unsafe-member-access)': 'run(anything().name);',
  'typescript(no-unsafe-return)': 'export function loose() {\n  return anything();\n}',
  'typescript(only-throw-error)': 'throw text;',
  'typescript(prefer-includes)': 'if (text.indexOf(name) !== -1) run(1);',
  'typescript(prefer-nullish-coalescing)': 'run(maybe || object);',
  'typescript(prefer-optional-chain)': 'run(maybe && maybe.name);',
  'typescript(prefer-promise-reject-errors)': 'export const refused = Promise.reject(text);',
  'typescript(prefer-string-starts-ends-with)': "if (text.indexOf('a') === 0) run(1);",
  'typescript(require-await)': 'export async function idle(): Promise<number> {\n  return 1;\n}',
  'typescript(restrict-plus-operands)': 'run(text + 1);',
  'typescript(restrict-template-expressions)': 'run(`${{ one: 1 }}`);',
  'typescript(return-await)':
    'export async function tried(): Promise<number> {\n  try {\n    return promise();\n  } catch {\n    return await promise();\n  }\n}',
  'typescript(switch-exhaustiveness-check)': "switch (kind) {\n  case 'one':\n    run(1);\n    break;\n}",
  'typescript(unbound-method)': 'export const get = holder.get;',
  'typescript(use-unknown-in-catch-callback-variable)': 'promise().catch((error: Error) => {\n  run(error);\n});',
  'weir(no-enum)': 'export enum Colour {\n  red,\n}',
  'weir(no-spread-first)': 'export const merged = { ...object, name };',
};

const PRELUDE = `
declare const text: string;
declare const texts: readonly string[];
declare const name: string;
declare const flag: boolean;
declare const kind: 'one' | 'two';
declare const object: { readonly name: string };
declare const maybe: { readonly name: string } | undefined;
declare const holder: { get(): number };
declare function run(value: unknown): void;
declare function take(value: string): void;
declare function promise(): Promise<number>;
/** @deprecated Use another. */
declare function old(): number;
`;

interface Report {
  readonly diagnostics: readonly { readonly code?: string; readonly message: string; readonly filename: string }[];
}

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'weir-lint-'));
  for (const name of ['config/oxlint.jsonc', 'tsconfig.json', 'scripts/lint'])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
});

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function lint(
  files: Readonly<Record<string, string>>,
): Promise<{ readonly exitCode: number; readonly found: Readonly<Record<string, readonly string[]>> }> {
  rmSync(path.join(folder, 'src'), { recursive: true, force: true });
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(path.join(folder, path.dirname(file)), { recursive: true });
    writeFileSync(path.join(folder, file), content);
  }
  const oxlint = path.join(ROOT, 'node_modules/oxlint/bin/oxlint');
  const { exitCode, stdout } = await runCommand(process.execPath, [oxlint, '--config=config/oxlint.jsonc', '--format=json', 'src'], {
    cwd: folder,
  });
  const { diagnostics } = JSON.parse(stdout) as Report;
  const found = (file: string) => diagnostics.filter(({ filename }) => filename === file).map(({ code, message }) => code ?? message);
  return { exitCode, found: Object.fromEntries(Object.keys(files).map((file) => [file, [...new Set(found(file))]])) };
}

test('each mistake is found by the rule of its class', async () => {
  const files = Object.entries(MISTAKES).map(([rule, content], index) => {
    const file = rule === 'weir(no-spread-first)' ? HOT : `src/lib/mistake-${index}.ts`;
    // Without an \`any\` of its own: an undeclared name has that type.
    const loose = content.includes('anything()')
      ? '// oxlint-disable-next-line typescript/no-explicit-any -- given\ndeclare function anything(): any;\n'
      : '';
    return { rule, file, text: `${PRELUDE}${loose}${content}\nexport {};\n` };
  });
  const { exitCode, found } = await lint(Object.fromEntries(files.map(({ file, text }) => [file, text])));
  const missed = files.flatMap(({ rule, file }) =>
    found[file]?.includes(rule) === true ? [] : [`${rule}: ${found[file]?.join(', ') ?? ''}`],
  );
  expect(missed).toEqual([]);
  expect(exitCode).toBe(1);
});

test('a comment silences the rule that it names, and one that silences nothing is found', async () => {
  const { found } = await lint({
    'src/silent.ts': '// oxlint-disable-next-line typescript/no-explicit-any -- a test\nexport const loose: any = 1;\n',
    'src/unused.ts': '// oxlint-disable-next-line typescript/no-explicit-any -- a test\nexport const strict = 1;\n',
  });
  expect(found).toMatchObject({ 'src/silent.ts': [], 'src/unused.ts': [expect.stringContaining('Unused')] });
});

test('a file without a mistake passes', async () => {
  expect(await lint({ [HOT]: 'export function sum(one: number, other: number): number {\n  return one + other;\n}\n' })).toEqual({
    exitCode: 0,
    found: { [HOT]: [] },
  });
});
