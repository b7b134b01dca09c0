/** The page of rollouts shows the files of deploy/rollout, and its commands step a stage on a running Weir. */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { tokenLine, TOKENS } from '../../support/admin/admin-server';
import { runWeir } from '../../support/processes/command';
import { startWeir } from '../../support/processes/weir-process';
import { freePort } from '../../support/servers/ports';

const PAGE = readFileSync('docs/rollout.md', 'utf8');
const EXAMPLE = readFileSync('deploy/example/payments.yaml', 'utf8');
const OLD = '          requests_per_unit: 100\n';

const read = (name: string) => readFileSync(path.join('deploy', 'rollout', name), 'utf8');

test('the files differ from the example as the page says', () => {
  expect(EXAMPLE.split(OLD)).toHaveLength(2);
  expect(read('first-try.yaml')).toBe(EXAMPLE.replace(OLD, '          requests_per_unit: 60\n'));
  expect(read('payments.yaml')).toBe(EXAMPLE.replace(OLD, '          requests_per_unit: 60\n          burst: 100\n'));
  const [, candidate = ''] = /```yaml\n([^`]*)```/.exec(PAGE) ?? [];
  expect(read('stage.yaml')).toBe(EXAMPLE.replace(OLD, `${OLD}${candidate}`));
});

test('the commands of the page start a stage, step it and take it back', async () => {
  const adminPort = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'weir-rollout-'));
  const [tokens, token] = [path.join(folder, 'tokens'), path.join(folder, 'admin')];
  writeFileSync(tokens, tokenLine('sre', 'admin', TOKENS.admin));
  writeFileSync(token, `${TOKENS.admin}\n`);
  const weir = await startWeir({
    config: 'deploy/rollout/stage.yaml',
    env: { BACKEND_TYPE: 'memory', ADMIN_PORT: String(adminPort), ADMIN_HOST: '127.0.0.1', ADMIN_TOKENS_FILE: tokens },
  });
  const env = { WEIR_ADMIN_URL: `http://127.0.0.1:${adminPort}`, WEIR_ADMIN_TOKEN_FILE: token };
  const commands = Array.from(PAGE.matchAll(/^weir (rollout .*)$/gm), ([, command = '']) => command);
  expect(commands.map((command) => command.split(' ')[1])).toEqual(['status', 'start', 'step', 'stop']);
  try {
    for (const command of commands) {
      const args = Array.from(command.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, bare]) => quoted ?? bare ?? '');
      const { exitCode, stderr } = await runWeir(args, { env });
      expect([command, exitCode, stderr]).toEqual([command, 0, '']);
    }
    const { stdout } = await runWeir(['rollout', 'status', '--domain', 'payments'], { env });
    expect(stdout).toContain('plan_free.merchant');
    expect(stdout).toMatch(/stopped|taken back|0 %/);
  } finally {
    await weir.stop();
  }
}, 60_000);
