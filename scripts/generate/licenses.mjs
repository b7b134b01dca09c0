/** Writes docs/generated/licenses.md: the license of every package that the image or an npm package brings, from package-lock.json. Only licenses of a list may come in. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT, exitWith, isMain } from '../process/repository.mjs';

/** None of them asks for more than its text and its notices. */
export const ALLOWED = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'];

const PAGE = join(ROOT, 'docs', 'generated', 'licenses.md');
const TEXT = /^(?:licen[cs]e|copying)/i;

/** @typedef {{ readonly version?: string, readonly license?: string, readonly dev?: boolean }} Locked */
/** @typedef {{ readonly name: string, readonly version: string, readonly license: string, readonly hasText: boolean }} Shipped */

/**
 * The packages that are not for development alone, in the order of their names.
 *
 * @param {string} lock The text of package-lock.json.
 * @param {string} [root] Where node_modules is.
 * @returns {readonly Shipped[]}
 */
export function shippedPackages(lock, root = ROOT) {
  const { packages } = /** @type {{ packages: Readonly<Record<string, Locked>> }} */ (parseJson(lock));
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  const rows = shipped.map(([path, { version = '', license = 'unknown' }]) => ({
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version,
    license,
    hasText: existsSync(join(root, path)) && readdirSync(join(root, path)).some((file) => TEXT.test(file)),
  }));
  return rows.toSorted((a, b) => (a.name === b.name ? a.version.localeCompare(b.version) : a.name < b.name ? -1 : 1));
}

/**
 * Packages whose license is not allowed, as sentences.
 *
 * @param {readonly Shipped[]} packages
 */
export function licenseFaults(packages) {
  const refused = packages.filter(({ license }) => !ALLOWED.includes(license));
  return refused.map(
    ({ name, version, license }) =>
      `${name} ${version} has the license ${license}; remove it, or allow that in scripts/generate/licenses.mjs.`,
  );
}

/** @param {readonly Shipped[]} packages */
export function licensesPage(packages) {
  const counts = ALLOWED.map((license) => [license, packages.filter((each) => each.license === license).length]);
  const without = packages.filter(({ hasText }) => !hasText).map(({ name }) => `\`${name}\``);
  return [
    '# Licenses',
    '',
    'Written by `node scripts/generate/licenses.mjs` from package-lock.json. Weir is under the Apache License 2.0 (LICENSE); NOTICE has the texts of what the console contains.',
    `The image contains these packages of npm, and the npm packages of Weir depend on some of them: ${counts.map(([license, count]) => `${count} ${license}`).join(', ')}.`,
    'The texts are in their folders below node_modules. These packages are published without a text:',
    `${without.join(', ')}.`,
    '',
    '| package | version | license |',
    '|---|---|---|',
    ...packages.map(({ name, version, license }) => `| \`${name}\` | ${version} | ${license} |`),
    '',
  ].join('\n');
}

if (isMain(import.meta.url)) {
  const packages = shippedPackages(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const faults = licenseFaults(packages);
  if (faults.length > 0) exitWith(faults.join('\n'));
  writeFileSync(PAGE, licensesPage(packages));
}
