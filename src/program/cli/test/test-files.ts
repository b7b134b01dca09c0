/** Finds the files of tests that a command names. */

import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { asError } from '../../../lib/errors';
import type { ConfigFile } from '../../../configuration/yaml/yaml-text';
import { UsageError } from '../usage-error';

/** A directory has files with such names; each is a file of tests. */
const NAME = /\.test\.ya?ml$/;

/** Most bytes of a file. */
export const TEST_FILE_BYTES_MAX = 8 * 1024 * 1024;

/**
 * The files, and those of the directories with all below, in the order of their names.
 *
 * @throws UsageError if one cannot be read, or a directory has none
 */
export async function findTestFiles(places: readonly string[]): Promise<readonly ConfigFile[]> {
  const names: string[] = [];
  for (const place of places) {
    const found = await filesOf(place);
    if (found.length === 0) throw new UsageError(`weir test: ${place} has no file whose name ends with .test.yaml`);
    names.push(...found);
  }
  return Promise.all([...new Set(names)].map(read));
}

async function filesOf(place: string): Promise<readonly string[]> {
  const stats = await stat(place).catch((error: unknown) => {
    throw new UsageError(`weir test: ${place} cannot be read: ${asError(error).message}`);
  });
  if (!stats.isDirectory()) return [place];
  const entries = await readdir(place, { recursive: true });
  return entries
    .filter((name) => NAME.test(name) && !name.split(path.sep).includes('node_modules'))
    .sort()
    .map((name) => path.join(place, name));
}

async function read(name: string): Promise<ConfigFile> {
  const { size } = await stat(name);
  if (size > TEST_FILE_BYTES_MAX) throw new UsageError(`weir test: ${name} has more than ${TEST_FILE_BYTES_MAX} bytes; split it`);
  return { name, text: await readFile(name, 'utf8') };
}
