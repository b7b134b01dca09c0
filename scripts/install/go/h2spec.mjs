/** Builds h2spec, which tests an HTTP/2 server against the RFCs, into .cache/h2spec/. It has no go.mod, so test/clients/h2spec pins its modules. */
import { installIfMain } from '../fetch/tool.mjs';
import { buildGoSource } from './go-program.mjs';

export function installH2spec() {
  return buildGoSource({ program: 'h2spec', source: 'test/clients/h2spec', main: 'github.com/summerwind/h2spec/cmd/h2spec' });
}

await installIfMain(import.meta.url, installH2spec);
