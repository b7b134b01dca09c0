/** luacheck finds nothing in the scripts of proxies, nor in those of Redis as it runs them: no global, nothing unused, nothing declared twice. */

import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { LUA_DIR, loadScript } from '../../src/state/store/redis/script-loader';
import { hangLimitMs } from '../support/clock/hang-limit';

const LUACHECK = process.env.WEIR_LUACHECK ?? 'luacheck';

const NAMES = readdirSync(LUA_DIR).flatMap((file) => (file.endsWith('.lua') ? [file.replace(/\.lua$/, '')] : []));

// Includes share one scope, where an argument may have the name of a value of the whole run.
const SHADOWED_UPVALUES = '431';

const OPTIONS = [
  '--std',
  'lua51',
  '--read-globals',
  'redis',
  'KEYS',
  'struct',
  // `plain-run.lua` turns its digits into numbers.
  '--globals',
  'ARGV',
  '--ignore',
  SHADOWED_UPVALUES,
  '--no-max-line-length',
  '--no-color',
  '--formatter',
  'plain',
];

/** A line for each finding. */
function luacheck(text: string): readonly string[] {
  const { error, stdout, stderr } = spawnSync(LUACHECK, [...OPTIONS, '-'], { input: text, encoding: 'utf8', timeout: hangLimitMs(20_000) });
  if (error !== undefined) throw error;
  return (stdout + stderr).split('\n').filter((line) => line !== '');
}

test('luacheck has no finding in the scripts', () => {
  const scripts = NAMES.map((name) => ({ name, text: loadScript(name).text })).map((script) => ({
    ...script,
    findings: luacheck(script.text),
  }));
  // Not every script uses each function of an include that it shares with another.
  const isUsed = (name: string) =>
    scripts.some(
      ({ text, findings }) =>
        text.includes(`local function ${name}(`) && !findings.some((finding) => finding.endsWith(`unused function '${name}'`)),
    );
  const wrong = scripts.flatMap(({ name, findings }) =>
    findings.filter((finding) => !isUsed(/unused function '(\w+)'$/.exec(finding)?.[1] ?? '')).map((finding) => `${name}: ${finding}`),
  );
  expect(wrong).toEqual([]);
});

test.each(['deploy/haproxy/weir.lua', 'deploy/apache/weir.lua'])('luacheck has no finding in %s', (file) => {
  const options = [
    '--std',
    'lua53',
    '--read-globals',
    'core',
    'apache2',
    '--globals',
    'check',
    '--no-max-line-length',
    '--formatter',
    'plain',
  ];
  const { error, stdout, stderr } = spawnSync(LUACHECK, [...options, '--no-color', file], {
    encoding: 'utf8',
    timeout: hangLimitMs(20_000),
  });
  if (error !== undefined) throw error;
  expect(stdout + stderr).toBe('');
});

test('luacheck finds a global and an unused variable', () => {
  const findings = luacheck('count = 1\nlocal unused = 2\n').join('\n');
  expect(findings).toContain("global variable 'count'");
  expect(findings).toContain("unused variable 'unused'");
});
