/** Builds actionlint, which checks workflows of GitHub, into .cache/actionlint/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const ACTIONLINT_VERSION = 'v1.7.12';

export function installActionlint() {
  return buildGoProgram({
    name: `actionlint ${ACTIONLINT_VERSION}`,
    path: join(ROOT, '.cache', 'actionlint', ACTIONLINT_VERSION),
    program: 'actionlint',
    args: () => ['install', `github.com/rhysd/actionlint/cmd/actionlint@${ACTIONLINT_VERSION}`],
  });
}

await installIfMain(import.meta.url, installActionlint);
