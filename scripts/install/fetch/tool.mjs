/** What an installer resolves to, and how it reports when it is started as a command. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { exitWith, isMain } from '../../process/repository.mjs';

/**
 * Where the tool is, or why it is missing and what to do.
 *
 * @typedef {{ readonly path: string, readonly missing?: undefined } | { readonly path?: undefined, readonly missing: string }} Tool
 */

/**
 * When `node FILE` started the module: installs the tool and prints its path.
 *
 * @param {string} moduleUrl
 * @param {() => Promise<Tool>} install
 */
export async function installIfMain(moduleUrl, install) {
  if (!isMain(moduleUrl)) return;
  const { path, missing } = await install();
  if (missing !== undefined) exitWith(missing);
  console.log(path);
}

/**
 * Calls `fill` with an empty folder inside `cache`, and removes that folder afterwards. `fill` moves finished files out of it, so the
 * cache never holds an incomplete tool.
 *
 * @template T
 * @param {string} cache
 * @param {(folder: string) => Promise<T>} fill
 */
export async function withUnfinishedFolder(cache, fill) {
  mkdirSync(cache, { recursive: true });
  const unfinished = mkdtempSync(join(cache, 'unfinished-'));
  try {
    return await fill(unfinished);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
