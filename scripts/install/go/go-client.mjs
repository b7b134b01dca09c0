/** Builds test/clients/go, a client that uses grpc-go, into .cache/go-client/. */
import { installIfMain } from '../fetch/tool.mjs';
import { buildGoSource } from './go-program.mjs';

export function installGoClient() {
  return buildGoSource({ program: 'go-client', source: 'test/clients/go' });
}

await installIfMain(import.meta.url, installGoClient);
