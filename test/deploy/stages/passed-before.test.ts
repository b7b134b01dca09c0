/** A check runs again after a change of what it reads, on the changed files alone where that is enough. */
import { runCommand } from '../../support/processes/command';

/** What is left to check in `now` after a pass on `before`: the paths of the files, each with its content. */
async function leftAfter(before: Record<string, string>, now: Record<string, string>, { isWhole = true, needsWhole = false } = {}) {
  const script = `
    import { keepCheck, leftToCheck } from './scripts/test/passed-before.mjs';
    import { rmSync } from 'node:fs';
    const name = 'example-' + process.pid;
    keepCheck(name, { files: new Map(Object.entries(${JSON.stringify(before)})), isWhole: ${isWhole} });
    console.log(JSON.stringify(leftToCheck(name, { files: new Map(Object.entries(${JSON.stringify(now)})), needsWhole: ${needsWhole} })));
    rmSync('.cache/passed-checks/' + name + '.json');`;
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as unknown;
}

const FILES = { 'src/a.ts': '1', 'src/b.ts': '1', 'package-lock.json': '1', 'docs/page.md': '1' };

test.each<[string, Record<string, string>, unknown]>([
  ['nothing', FILES, 'nothing'],
  ['a page', { ...FILES, 'docs/page.md': '2' }, 'nothing'],
  ['a source', { ...FILES, 'src/a.ts': '2' }, ['src/a.ts']],
  ['a new source', { ...FILES, 'src/c.ts': '1' }, ['src/c.ts']],
  ['the versions of packages', { ...FILES, 'package-lock.json': '2' }, 'all'],
  ['a source that is gone', { 'src/a.ts': '1', 'package-lock.json': '1' }, 'all'],
])('after a change of %s', async (_, now, left) => {
  expect(await leftAfter(FILES, now)).toEqual(left);
});

test('a run of everything reads all, unless all of it was read before', async () => {
  expect(await leftAfter(FILES, FILES, { needsWhole: true })).toBe('nothing');
  expect(await leftAfter(FILES, FILES, { needsWhole: true, isWhole: false })).toBe('all');
  expect(await leftAfter(FILES, { ...FILES, 'src/a.ts': '2' }, { needsWhole: true })).toBe('all');
});
