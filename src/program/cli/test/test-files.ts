/** Finds the files of tests that a command names. */

import { isUtf8 } from 'node:buffer';
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
  return readAll(await namesOfTestFiles(places));
}

/**
 * The files of tests in a directory, with all below; there may be none.
 *
 * @throws UsageError if one cannot be read
 */
export async function testFilesBelow(directory: string): Promise<readonly ConfigFile[]> {
  return readAll(await filesOf(directory));
}

/**
 * The names of the same files.
 *
 * @throws UsageError
 */
export async function namesOfTestFiles(places: readonly string[]): Promise<readonly string[]> {
  const names: string[] = [];
  for (const place of places) {
    const found = await filesOf(place);
    if (found.length === 0) throw new UsageError(`weir test: ${place} has no file whose name ends with .test.yaml`);
    names.push(...found);
  }
  return [...new Set(names)];
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

/** One by one, because a process has a limited number of open files. */
async function readAll(names: readonly string[]): Promise<readonly ConfigFile[]> {
  const files: ConfigFile[] = [];
  for (const name of names) files.push(await read(name));
  return files;
}

async function read(name: string): Promise<ConfigFile> {
  const refuse = (fault: string): never => {
    throw new UsageError(`weir test: ${name} ${fault}`);
  };
  const stats = await stat(name);
  if (!stats.isFile()) refuse('is not a regular file');
  if (stats.size > TEST_FILE_BYTES_MAX) refuse(`has more than ${TEST_FILE_BYTES_MAX} bytes; split it`);
  const bytes = await readFile(name).catch((error: unknown) => refuse(`cannot be read: ${asError(error).message}`));
  if (!isUtf8(bytes)) refuse('is not UTF-8');
  return { name, text: bytes.toString() };
}
