/** Adds new names to docs/generated/stable-names.json, and reports those that are gone: `node scripts/generate/stable-names.mjs`. It removes none. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT, exitWith, isMain } from '../process/repository.mjs';
import { stableNames } from './stable/names.mjs';
import { brokenPromises } from './stable/promise.mjs';

/** @typedef {import('./stable/names.mjs').Names} Names */
/** @typedef {{ readonly deprecated: readonly import('./stable/promise.mjs').Deprecation[], readonly names: Names }} Listed */

const FILE = 'docs/generated/stable-names.json';

/**
 * The file with all names that it has, and those of the tree.
 *
 * @param {Listed} listed
 * @param {Names} present
 */
export function renderStableNames({ deprecated, names }, present) {
  /** @type {[string, string[]][]} */
  const kinds = Object.entries(present).map(([kind, each]) => [kind, [...new Set([...(names[kind] ?? []), ...each])].toSorted()]);
  return `${JSON.stringify({ deprecated, names: Object.fromEntries(kinds) }, undefined, 1)}\n`;
}

if (isMain(import.meta.url)) {
  /** @param {string} name */
  const read = (name) => readFileSync(join(ROOT, name), 'utf8');
  const before = /** @type {Listed} */ (parseJson(read(FILE)));
  const present = stableNames(ROOT);
  const { version } = /** @type {{ version: string }} */ (parseJson(read('package.json')));
  const faults = brokenPromises({
    ...{ listed: before.names, present, deprecated: before.deprecated },
    ...{ version, changelog: read('CHANGELOG.md') },
  });
  writeFileSync(join(ROOT, FILE), renderStableNames(before, present));
  if (faults.length > 0) exitWith(faults.join('\n'));
}
