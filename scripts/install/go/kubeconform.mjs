/** Builds kubeconform, which checks manifests against the schemas of Kubernetes, into .cache/kubeconform/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const KUBECONFORM_VERSION = 'v0.8.0';

export function installKubeconform() {
  return buildGoProgram({
    name: `kubeconform ${KUBECONFORM_VERSION}`,
    path: join(ROOT, '.cache', 'kubeconform', KUBECONFORM_VERSION),
    program: 'kubeconform',
    args: () => ['install', `github.com/yannh/kubeconform/cmd/kubeconform@${KUBECONFORM_VERSION}`],
  });
}

await installIfMain(import.meta.url, installKubeconform);
