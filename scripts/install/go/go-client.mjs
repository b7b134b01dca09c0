/** Builds test/clients/go, a client that uses grpc-go, into .cache/go-client/. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../process/repository.mjs';
import { buildGoProgram } from './go-program.mjs';
import { installIfMain } from '../tool.mjs';

const SOURCE = join(ROOT, 'test', 'clients', 'go');
const INPUTS = ['go.mod', 'go.sum', 'main.go'];

export function installGoClient() {
  const hash = createHash('sha256');
  for (const name of INPUTS) hash.update(readFileSync(join(SOURCE, name)));
  return buildGoProgram({
    name: 'test/clients/go',
    path: join(ROOT, '.cache', 'go-client', hash.digest('hex').slice(0, 16)),
    program: 'client',
    args: (folder) => ['build', '-C', SOURCE, '-mod=readonly', '-o', join(folder, 'client'), '.'],
  });
}

await installIfMain(import.meta.url, installGoClient);
