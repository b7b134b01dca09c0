/** `npm run build` checks types also after `npm start` built without checks. */

import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..');
const GOOD = "export const count: number = 1;\nconsole.log('ran');\n";
const WRONG = GOOD.replace('= 1', "= 'one'");

/** A checkout with all packages, and one small source file. */
const home = mkdtempSync(path.join(tmpdir(), 'weir-build-'));
const main = path.join(home, 'src', 'main.ts');

beforeAll(() => {
  mkdirSync(path.join(home, 'src'));
  mkdirSync(path.join(home, 'node_modules'));
  for (const name of ['deploy/bin', 'scripts', 'tsconfig.json', 'config/tsconfig.build.json'])
    cpSync(path.join(ROOT, name), path.join(home, name), { recursive: true });
  for (const name of ['typescript', '@types', 'undici-types'])
    symlinkSync(path.join(ROOT, 'node_modules', name), path.join(home, 'node_modules', name));
  writeFileSync(path.join(home, 'package.json'), '{"exports":{}}');
  for (const file of ['package-lock.json', 'node_modules/.package-lock.json']) writeFileSync(path.join(home, file), '{"packages":{}}');
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

const start = () => runCommand(process.execPath, ['scripts/start.mjs', 'show'], { cwd: home });
const build = () => runCommand(process.execPath, ['scripts/build.mjs'], { cwd: home });

test('npm run build after npm start checks types, and then nothing is built again', async () => {
  writeFileSync(main, WRONG);
  expect(await start()).toMatchObject({ exitCode: 0, stdout: 'Building dist/ from src/ (tsc, without type checks) …\nran\n' });
  expect(await start()).toMatchObject({ exitCode: 0, stdout: 'ran\n' });

  const failed = await build();
  expect(failed).toMatchObject({ exitCode: 1, stderr: 'tsc found the errors above\n' });
  expect(failed.stdout).toContain('src/main.ts(1,14): error TS2322');

  writeFileSync(main, GOOD);
  expect(await build()).toMatchObject({ exitCode: 0, stdout: 'Building dist/ from src/ (tsc) …\n' });
  expect(await build()).toMatchObject({ exitCode: 0, stdout: '' });
  expect(await start()).toMatchObject({ exitCode: 0, stdout: 'ran\n' });
});
