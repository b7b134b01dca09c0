/** The drawings of the docs show what a running Weir answers. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const COMMAND = 'scripts/generate/drawings.mjs';
const COMMITTED = 'docs/images';
const WIDTH_MAX = 900;

const drawings = readdirSync(COMMITTED).filter((file) => file.endsWith('.svg'));

test('the drawings show what a Weir that runs answers now', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-drawings-'));
  try {
    const env = { WEIR_REDIS_SERVER: process.env.WEIR_REDIS_SERVER ?? '' };
    const { exitCode, stderr } = await runCommand(process.execPath, [COMMAND, '--out', folder], { env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(readdirSync(folder).sort()).toEqual([...drawings].sort());
    const changed = drawings.filter(
      (file) => readFileSync(path.join(folder, file), 'utf8') !== readFileSync(path.join(COMMITTED, file), 'utf8'),
    );
    if (changed.length > 0)
      throw new Error(`${changed.join(', ')} of ${COMMITTED} show something else; run node ${COMMAND} (after a build)`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each(drawings)('%s has a title, a description and two themes, fits a page, and loads nothing', (file) => {
  const text = readFileSync(path.join(COMMITTED, file), 'utf8');
  expect(text).toMatch(/<title id="[^"]+">[^<]+<\/title>\n<desc id="[^"]+">[^<]+<\/desc>/);
  expect(text).toContain('prefers-color-scheme: dark');
  expect(Number(/ width="(\d+)"/.exec(text)?.[1])).toBeLessThanOrEqual(WIDTH_MAX);
  expect(text.replace('xmlns="http://www.w3.org/2000/svg"', '')).not.toMatch(/https?:|href|url\(|@import|<script/);
});

test('the command names a mistake on its command line', async () => {
  const { exitCode, stderr } = await runCommand(process.execPath, [COMMAND, '--folder', 'x']);
  expect(exitCode).toBe(1);
  expect(stderr).toContain("Unknown option '--folder'");
  expect(stderr).toContain('Usage: node scripts/generate/drawings.mjs');
});
