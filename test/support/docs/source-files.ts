/** The project's own source, for tests that read it as text. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

export interface SourceFile {
  /** Seen from the folder, with forward slashes: `store/redis-store.ts`. */
  readonly name: string;
  readonly text: string;
}

/** Every file of `src/`, or of another folder, with one of these extensions. */
export function sourceFiles({
  folder = 'src',
  kinds = ['.ts'],
}: { readonly folder?: string; readonly kinds?: readonly string[] } = {}): SourceFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => kinds.includes(path.extname(name)))
    .map((name) => ({ name, text: readFileSync(path.join(folder, name), 'utf8') }));
}
