/** The project's own source, for tests that read it as text. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface SourceFile {
  /** Seen from the folder, with forward slashes: `store/redis-store.ts`. */
  readonly name: string;
  readonly text: string;
}

/** Every TypeScript file below `src/`. */
export function sourceFiles(folder = 'src'): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({ name, text: readFileSync(path.join(folder, name), 'utf8') }));
}
