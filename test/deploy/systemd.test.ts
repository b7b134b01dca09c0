/** The systemd unit waits for a drain and grants no capability, and docs/vm.md installs every file that it reads. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { readSettings } from '../../src/configuration/settings/table/settings';
import { SETTINGS_TABLE } from '../../src/configuration/settings/table/settings-table';
import type { SettingRow } from '../../src/configuration/settings/table/setting-row';
import { isLong } from '../support/random/form';
import { fencedBlocks } from '../support/docs/markdown';

const UNIT = readFileSync('deploy/systemd/weir.service', 'utf8');
const ENV = readFileSync('deploy/systemd/weir.env', 'utf8');
const [INSTALL = ''] = fencedBlocks('docs/vm.md', 'sh');

/** The values of a key of the unit, in their order. */
function valuesOf(key: string): string[] {
  return Array.from(UNIT.matchAll(new RegExp(`^${key}=(.*)$`, 'gm')), ([, value]) => value!);
}

test('every variable of weir.env is a setting, also those in comments', () => {
  const names = Array.from(ENV.matchAll(/^#?([A-Z_]+)=/gm), ([, name]) => name!);
  const known = Object.values<SettingRow>(SETTINGS_TABLE).map(({ name }) => name);
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !known.includes(name))).toEqual([]);
});

test('systemd waits longer than a drain takes', () => {
  const [stop = ''] = valuesOf('TimeoutStopSec');
  const { drainDelayMs, drainTimeoutMs } = readSettings({});
  expect(Number.parseInt(stop, 10) * 1000).toBeGreaterThan(drainDelayMs + drainTimeoutMs);
});

test('the sandbox lets V8 compile, and grants no capability', () => {
  expect(valuesOf('MemoryDenyWriteExecute')).toEqual([]);
  expect(valuesOf('CapabilityBoundingSet')).toEqual(['']);
  expect(valuesOf('NoNewPrivileges')).toEqual(['yes']);
});

test('the page installs every file that the unit starts or reads', () => {
  const [start = ''] = valuesOf('ExecStart');
  const files = start.split(' ').filter((each) => each.startsWith('/'));
  expect(files).toEqual(['/usr/local/bin/weir', '/etc/weir/limits.yaml']);
  for (const file of [...files, '/etc/weir/weir.env', '/etc/systemd/system/weir.service']) expect(INSTALL).toContain(file);
});

// The build and npm ci take a minute.
const whenLong = isLong ? test : test.skip;

whenLong('the commands of the page install a Weir that checks its limits', () => {
  const root = mkdtempSync(path.join(tmpdir(), 'weir-vm-'));
  try {
    const commands = INSTALL.replaceAll(/ \/(opt|etc|usr)\//g, ` ${root}/$1/`).replace(/^npm ci --ignore-scripts && /, '');
    const folders = `mkdir -p ${root}/opt ${root}/etc/systemd/system ${root}/usr/local/bin`;
    execFileSync('sh', ['-ec', `${folders}\n${commands}`], { stdio: 'pipe' });
    const output = execFileSync(`${root}/usr/local/bin/weir`, ['check', `${root}/etc/weir/limits.yaml`], {
      env: { PATH: process.env.PATH, WEIR_HOME: `${root}/opt/weir` },
      encoding: 'utf8',
    });
    expect(output).toContain('ok: 1 domain');
  } finally {
    rmSync(root, { recursive: true });
  }
});
