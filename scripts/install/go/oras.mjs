/** Builds oras, which copies images between registries and files, into .cache/oras/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const ORAS_VERSION = 'v1.3.6';

export function installOras() {
  return buildGoProgram({
    name: `oras ${ORAS_VERSION}`,
    path: join(ROOT, '.cache', 'oras', ORAS_VERSION),
    program: 'oras',
    args: () => ['install', `oras.land/oras/cmd/oras@${ORAS_VERSION}`],
  });
}

await installIfMain(import.meta.url, installOras);
