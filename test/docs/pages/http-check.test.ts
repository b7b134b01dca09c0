/** The commands of docs/http-check.md print what it shows, and its examples have its settings. */

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { fencedBlocks } from '../../support/docs/markdown';
import { startWeir } from '../../support/processes/weir-process';

const run = promisify(execFile);
const PAGE = 'docs/http-check.md';
const TEXT = readFileSync(PAGE, 'utf8');
const [START = '', ASK = ''] = fencedBlocks(PAGE, 'sh');

/** `NAME=value` of the command that starts Weir. */
const SETTINGS = Object.fromEntries(Array.from(START.matchAll(/^([A-Z_]+)='?([^'\n\\]+?)'? \\$/gm), ([, name, value]) => [name!, value!]));

test('the commands of the page print what it shows', async () => {
  expect(Object.keys(SETTINGS)).toEqual(['CHECK_DOMAIN', 'CHECK_DESCRIPTORS', 'RESPONSE_HEADERS']);
  const weir = await startWeir({ config: 'deploy/example/payments.yaml', env: { BACKEND_TYPE: 'memory', ...SETTINGS } });
  const { stdout } = await run('sh', ['-c', ASK.replace('localhost:8080', `127.0.0.1:${weir.httpPort}`)]);
  await weir.stop();
  const [, shown = ''] = TEXT.split('at once:\n')[1]!.split('```\n\n');
  expect(stdout).toBe(
    shown
      .split('\n\n')[0]!
      .split('\n')
      .map((line) => `${line.trim()}\n`)
      .join(''),
  );
});

test('the examples have the settings of the page', () => {
  const links = [...TEXT.matchAll(/\]\(\.\.\/(deploy\/[^)]+)\)/g)].map(([, file]) => file!);
  expect([...new Set(links.map((file) => path.dirname(file)))]).toHaveLength(5);
  for (const file of links) expect(existsSync(file)).toBe(true);
  for (const file of links.filter((each) => !each.endsWith('.lua'))) {
    const text = readFileSync(file, 'utf8');
    expect(text).toContain(`CHECK_DOMAIN=${SETTINGS.CHECK_DOMAIN} CHECK_DESCRIPTORS='${SETTINGS.CHECK_DESCRIPTORS}' RESPONSE_HEADERS=ietf`);
  }
});
