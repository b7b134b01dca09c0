/** A configuration file for one test. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Writes the YAML to a folder of its own; the path of the file. */
export function writeConfig(yaml: string): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'weir-config-')), 'config.yaml');
  writeFileSync(file, yaml);
  return file;
}
