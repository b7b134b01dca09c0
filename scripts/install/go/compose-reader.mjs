/** Builds the reader of compose files that `docker compose` uses into .cache/compose-reader/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const COMPOSE_GO_VERSION = 'v2.16.2';

export function installComposeReader() {
  return buildGoProgram({
    name: `compose-go ${COMPOSE_GO_VERSION}`,
    path: join(ROOT, '.cache', 'compose-reader', COMPOSE_GO_VERSION),
    program: 'cmd',
    args: () => ['install', `github.com/compose-spec/compose-go/v2/cmd@${COMPOSE_GO_VERSION}`],
  });
}

await installIfMain(import.meta.url, installComposeReader);
