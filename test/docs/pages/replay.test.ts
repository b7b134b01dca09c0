/** The commands of docs/replay.md print what the page shows, and its mapping is one. */

import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ProblemList } from '../../../src/configuration/problems/problem-list';
import { readMapping } from '../../../src/program/cli/replay/mapping/read-mapping';
import { runCommand } from '../../support/processes/command';

const ROOT = path.resolve(__dirname, '..', '..', '..');
const page = readFileSync(path.join(ROOT, 'docs/replay.md'), 'utf8');

function blockOf(language: string): string {
  const [, block] = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(page) ?? [];
  if (block === undefined) throw new Error(`docs/replay.md has no block of ${language}`);
  return block;
}

test('the example prints what the page shows', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-replay-page-'));
  symlinkSync(path.join(ROOT, 'deploy'), path.join(folder, 'deploy'));
  const weir = `weir() { "${process.execPath}" "${path.join(ROOT, 'dist/main.js')}" "$@"; }`;
  const { exitCode, stdout, stderr } = await runCommand('sh', ['-c', `${weir}\n${blockOf('sh')}`], { cwd: folder });
  rmSync(folder, { recursive: true });
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(stdout.trim()).toBe(blockOf('text').trim());
});

test('the mapping of the page has no mistake', () => {
  const list = new ProblemList();
  expect(readMapping({ name: 'map.yaml', text: blockOf('yml') }, list)).toMatchObject({ format: 'csv', hits: 'bytes' });
  expect(list.found().kept).toEqual([]);
});
