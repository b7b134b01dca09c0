/** Envoy accepts each published configuration, and `weir check` finds no fault in its limits. */
import { copyFileSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runWeir } from '../support/processes/command';
import { validateEnvoyConfig, type Replacements } from '../support/servers/envoy';
import { ENVOY_CONFIG } from './chain/gateway';
import { envoyConfigOf, limitsOf, type Preset } from './chain/usage-chain';
import { ACTION_NAMES, certificates } from './examples/examples';
import { TENANTS_ENVOY } from './tenants/fleet';

const ACTIONS = resolve(__dirname, '..', '..', 'deploy', 'envoy', 'actions');

/** Envoy reads them when it validates. */
const CERTIFICATE_FILES: Replacements = {
  '/etc/envoy/tls/server.crt': certificates.server.cert,
  '/etc/envoy/tls/server.key': certificates.server.key,
  '/etc/envoy/tls/callers-ca.crt': certificates.ca.cert,
};

const PRESETS: readonly Preset[] = ['llm-tokens', 'failed-logins', 'in-flight', 'estimate', 'mcp-tools'];

test('Envoy accepts deploy/envoy/envoy.yaml unchanged', async () => {
  await validateEnvoyConfig({ file: ENVOY_CONFIG });
});

test('Envoy accepts deploy/tenants/envoy.yaml unchanged', async () => {
  await validateEnvoyConfig({ file: TENANTS_ENVOY });
});

test.each(PRESETS)('Envoy accepts deploy/envoy/usage/%s/envoy.yaml unchanged', async (preset) => {
  await validateEnvoyConfig({ file: envoyConfigOf(preset) });
});

test.each(PRESETS)('weir check finds neither errors nor warnings in deploy/envoy/usage/%s/limits.yaml', async (preset) => {
  const { exitCode, stdout } = await runWeir(['check', limitsOf(preset)]);
  expect(stdout).toContain('0 errors, 0 warnings');
  expect(exitCode).toBe(0);
});

test.each(ACTION_NAMES)('Envoy accepts deploy/envoy/actions/%s/envoy.yaml unchanged', async (name) => {
  await validateEnvoyConfig({ file: join(ACTIONS, name, 'envoy.yaml') }, name === 'certificates' ? CERTIFICATE_FILES : {});
});

test('weir check finds neither errors nor warnings in the limits of deploy/envoy/actions', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-actions-'));
  for (const name of ACTION_NAMES) copyFileSync(join(ACTIONS, name, 'limits.yaml'), join(folder, `${name}.yaml`));
  const { exitCode, stdout } = await runWeir(['check', folder]);
  rmSync(folder, { recursive: true });
  expect(stdout).toContain('0 errors, 0 warnings');
  expect(exitCode).toBe(0);
});

test('every folder of deploy/envoy/actions is tested', () => {
  expect([...ACTION_NAMES].sort()).toEqual(readdirSync(ACTIONS).filter((name) => !name.endsWith('.md')));
});

test('Envoy rejects an unknown field, so the test above can fail', async () => {
  await expect(validateEnvoyConfig({ file: ENVOY_CONFIG }, { 'failure_mode_deny: false': 'failure_mode_denied: false' })).rejects.toThrow(
    'failure_mode_denied',
  );
});

test('a replacement that matches nothing is an error', async () => {
  await expect(validateEnvoyConfig({ file: ENVOY_CONFIG }, { 'timeout: 7s': 'timeout: 8s' })).rejects.toThrow('occurs 0 times');
});
