/** Reading the YAML files of deploy/ for the tests. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseAllDocuments } from 'yaml';

export const DEPLOY = resolve(__dirname, '..', '..', 'deploy');

/** The documents of one file, as plain values; any YAML error or warning is one here. */
export function documentsOf(file: string): unknown[] {
  const documents = parseAllDocuments(readFileSync(resolve(DEPLOY, file), 'utf8'), { strict: true, uniqueKeys: true });
  if (!Array.isArray(documents)) throw new Error(`${file} holds no document`);
  return documents.map((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${file}: ${problem.message}`);
    return document.toJS() as unknown;
  });
}
