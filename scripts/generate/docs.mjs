/** Writes the pages and the source that are generated from tables in the code. */
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT } from '../process/repository.mjs';

/** @type {(path: string) => unknown} */
const load = createRequire(import.meta.url);
load('../process/load-typescript.cjs');
const { generatedFiles } = /** @type {typeof import('./docs/generated-files.js')} */ (load('./docs/generated-files.ts'));

for (const [path, text] of Object.entries(generatedFiles())) writeFileSync(join(ROOT, path), text);
