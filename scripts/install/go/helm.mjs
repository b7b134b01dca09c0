/** Builds Helm, which renders the chart of deploy/helm, into .cache/helm/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const HELM_VERSION = 'v3.22.0';

export function installHelm() {
  return buildGoProgram({
    name: `helm ${HELM_VERSION}`,
    path: join(ROOT, '.cache', 'helm', HELM_VERSION),
    program: 'helm',
    args: () => ['install', `helm.sh/helm/v3/cmd/helm@${HELM_VERSION}`],
  });
}

await installIfMain(import.meta.url, installHelm);
