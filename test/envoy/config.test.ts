/** Envoy itself accepts the published config as it stands. */
import { validateEnvoyConfig } from '../support/envoy';
import { ENVOY_CONFIG } from './gateway';

test('deploy/envoy/envoy.yaml is valid, unchanged', async () => {
  await validateEnvoyConfig({ file: ENVOY_CONFIG });
});

test('a field that Envoy does not know is refused, so the test above can fail', async () => {
  await expect(validateEnvoyConfig({ file: ENVOY_CONFIG }, { 'failure_mode_deny: false': 'failure_mode_denied: false' })).rejects.toThrow('failure_mode_denied');
});

test('a replacement that matches nothing is an error', async () => {
  await expect(validateEnvoyConfig({ file: ENVOY_CONFIG }, { 'timeout: 7s': 'timeout: 8s' })).rejects.toThrow('occurs 0 times');
});
