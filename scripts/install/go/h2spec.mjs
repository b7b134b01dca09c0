/** Builds h2spec, which tests an HTTP/2 server against the RFCs, into .cache/h2spec/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const H2SPEC_VERSION = 'v2.2.1+incompatible';

export function installH2spec() {
  return buildGoProgram({
    name: `h2spec ${H2SPEC_VERSION}`,
    path: join(ROOT, '.cache', 'h2spec', H2SPEC_VERSION),
    program: 'h2spec',
    args: () => ['install', `github.com/summerwind/h2spec/cmd/h2spec@${H2SPEC_VERSION}`],
  });
}

await installIfMain(import.meta.url, installH2spec);
