/** The record of a release, release.json beside what it describes: version, commit, and each artifact with its digest. The steps after `pack` read nothing else. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../../process/parse-json.mjs';

/** @typedef {{ readonly name: string, readonly file: string, readonly integrity: string, readonly sbom: string }} PackedPackage */

/**
 * Paths are relative to the folder of the release.
 *
 * @typedef {object} Release
 * @property {string} version
 * @property {string} commit
 * @property {number} createdS The time of the commit.
 * @property {{ readonly name: string, readonly layout: string, readonly digest: string, readonly sbom: string }} image
 * @property {{ readonly folder: string, readonly file: string, readonly digest: string }} chart `digest` is that of the file.
 * @property {readonly PackedPackage[]} packages
 * @property {string} provenance
 */

/**
 * @param {string} folder
 * @returns {Release}
 */
export function readRelease(folder) {
  const file = join(folder, 'release.json');
  if (!existsSync(file)) throw new Error(`${file} is missing; run the step pack first`);
  return /** @type {Release} */ (parseJson(readFileSync(file, 'utf8')));
}

/**
 * @param {string} folder
 * @param {Release} release
 */
export function writeRelease(folder, release) {
  writeJson(join(folder, 'release.json'), release);
}

/**
 * @param {string} file
 * @param {unknown} value
 */
export function writeJson(file, value) {
  writeFileSync(file, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** @param {string} file */
export function sha256Of(file) {
  return `sha256:${createHash('sha256').update(readFileSync(file)).digest('hex')}`;
}

/**
 * As npm writes it into lock files.
 *
 * @param {string} file
 */
export function integrityOf(file) {
  return `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
}

/**
 * The digest of the image in an OCI layout.
 *
 * @param {string} layout
 */
export function imageDigestOf(layout) {
  const { manifests } = /** @type {{ manifests: readonly { digest: string }[] }} */ (readLayout(layout, 'index.json'));
  const [only, other] = manifests;
  if (only === undefined || other !== undefined) throw new Error(`${layout} has ${manifests.length} images; build one`);
  return only.digest;
}

/**
 * A document of an OCI layout.
 *
 * @param {string} layout
 * @param {string} place A digest, or the name of a file.
 */
export function readLayout(layout, place) {
  return parseJson(readFileSync(join(layout, place.includes(':') ? `blobs/${place.replace(':', '/')}` : place), 'utf8'));
}
