/** Finds cosign, which signs releases, or builds it into .cache/cosign/: that takes seven minutes of processor time. */
import { join } from 'node:path';
import { which } from '../../process/programs.mjs';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const COSIGN_VERSION = 'v3.1.3';

/** @returns {Promise<import('../fetch/tool.mjs').Tool>} */
export async function installCosign() {
  const found = which('cosign');
  if (found !== undefined) return { path: found };
  return buildGoProgram({
    name: `cosign ${COSIGN_VERSION}`,
    path: join(ROOT, '.cache', 'cosign', COSIGN_VERSION),
    program: 'cosign',
    args: () => ['install', `github.com/sigstore/cosign/v3/cmd/cosign@${COSIGN_VERSION}`],
  });
}

await installIfMain(import.meta.url, installCosign);
