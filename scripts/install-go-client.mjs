// Builds the client of test/clients/go, by grpc-go, into .cache/go-client/.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildGo } from './build-go.mjs';
import { ROOT, exitMissing, isMain } from './process.mjs';

const SOURCE = join(ROOT, 'test', 'clients', 'go');
const INPUTS = ['go.mod', 'go.sum', 'main.go'];

/** Resolves to { path }, or to { missing }: why there is none and what to do. */
export function installGoClient() {
  const hash = createHash('sha256');
  for (const name of INPUTS) hash.update(readFileSync(join(SOURCE, name)));
  return buildGo({
    name: 'the Go client of the tests',
    path: join(ROOT, '.cache', 'go-client', hash.digest('hex').slice(0, 16)),
    program: 'client',
    args: (folder) => ['build', '-C', SOURCE, '-mod=readonly', '-o', join(folder, 'client'), '.'],
  });
}

if (isMain(import.meta.url)) {
  const { path, missing } = await installGoClient();
  if (missing !== undefined) exitMissing(missing);
  console.log(path);
}
