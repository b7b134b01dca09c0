/** Envoy itself accepts the published configs as they stand, and the presets' limits are what `weir check` has nothing against. */
import { runWeir } from '../support/processes/command';
import { validateEnvoyConfig } from '../support/servers/envoy';
import { ENVOY_CONFIG } from './chain/gateway';
import { envoyConfigOf, limitsOf, type Preset } from './chain/usage-chain';
import { TENANTS_ENVOY } from './tenants/fleet';

const PRESETS: readonly Preset[] = ['llm-tokens', 'failed-logins', 'in-flight', 'estimate'];

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

test('Envoy rejects an unknown field, so the test above can fail', async () => {
  await expect(validateEnvoyConfig({ file: ENVOY_CONFIG }, { 'failure_mode_deny: false': 'failure_mode_denied: false' })).rejects.toThrow(
    'failure_mode_denied',
  );
});

test('a replacement that matches nothing is an error', async () => {
  await expect(validateEnvoyConfig({ file: ENVOY_CONFIG }, { 'timeout: 7s': 'timeout: 8s' })).rejects.toThrow('occurs 0 times');
});
