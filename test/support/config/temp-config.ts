/** Files for one test. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Writes the YAML to a folder of its own; the path of the file. */
export function writeConfig(yaml: string): string {
  return write({ name: 'config.yaml', text: yaml });
}

/** Writes any text, likewise. */
export function writeText(text: string): string {
  return write({ name: 'text', text });
}

function write({ name, text }: { readonly name: string; readonly text: string }): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'weir-config-')), name);
  writeFileSync(file, text);
  return file;
}
