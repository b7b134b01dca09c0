/** Builds Caddy, which asks /check in the tests, into .cache/caddy/. */
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../fetch/tool.mjs';

const CADDY_VERSION = 'v2.11.9';

export function installCaddy() {
  return buildGoProgram({
    name: `Caddy ${CADDY_VERSION}`,
    path: join(ROOT, '.cache', 'caddy', CADDY_VERSION),
    program: 'caddy',
    args: () => ['install', `github.com/caddyserver/caddy/v2/cmd/caddy@${CADDY_VERSION}`],
  });
}

await installIfMain(import.meta.url, installCaddy);
