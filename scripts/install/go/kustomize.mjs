/** Builds kustomize, which renders deploy/kubernetes, into .cache/kustomize/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const KUSTOMIZE_VERSION = 'v5.8.1';

export function installKustomize() {
  return buildGoProgram({
    name: `kustomize ${KUSTOMIZE_VERSION}`,
    path: join(ROOT, '.cache', 'kustomize', KUSTOMIZE_VERSION),
    program: 'kustomize',
    args: () => ['install', `sigs.k8s.io/kustomize/kustomize/v5@${KUSTOMIZE_VERSION}`],
  });
}

await installIfMain(import.meta.url, installKustomize);
