/** Builds test/kubernetes/go/envoy-gateway-config, which reads an EnvoyGateway configuration with Envoy Gateway's own types, into .cache/. */
import { installIfMain } from '../fetch/tool.mjs';
import { buildGoSource } from './go-program.mjs';

export function installEnvoyGatewayConfig() {
  return buildGoSource({ program: 'envoy-gateway-config', source: 'test/kubernetes/go/envoy-gateway-config' });
}

await installIfMain(import.meta.url, installEnvoyGatewayConfig);
