/**
 * Splits the image of a release by platform, each an OCI layout of its own: `node scripts/release/single-platform.mjs LAYOUT OUT`. A
 * scanner reads no index inside an index.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';
import { exitWith } from '../process/repository.mjs';
import { imageDigestOf, readLayout } from './steps/record.mjs';

/** Those that release.yml builds and scans. */
const ARCHITECTURES = ['amd64', 'arm64'];

/** @typedef {{ readonly digest: string, readonly platform?: { readonly os: string, readonly architecture: string } }} Descriptor */

const [layout, out] = process.argv.slice(2);
if (layout === undefined || out === undefined) exitWith('Usage: node scripts/release/single-platform.mjs LAYOUT OUT');
try {
  for (const architecture of ARCHITECTURES) split(layout, join(out, architecture), architecture);
} catch (error) {
  exitWith(error instanceof Error ? error.message : String(error));
}

/**
 * @param {string} from
 * @param {string} to
 * @param {string} architecture
 */
function split(from, to, architecture) {
  const { manifests = [] } = /** @type {{ manifests?: readonly Descriptor[] }} */ (readLayout(from, imageDigestOf(from)));
  const only = manifests.filter(({ platform }) => platform?.os === 'linux' && platform.architecture === architecture);
  if (only.length !== 1) throw new Error(`${from} has ${only.length} images for linux/${architecture}; build one`);
  rmSync(to, { recursive: true, force: true });
  mkdirSync(to, { recursive: true });
  symlinkSync(resolve(from, 'blobs'), join(to, 'blobs'));
  cpSync(join(from, 'oci-layout'), join(to, 'oci-layout'));
  const index = /** @type {object} */ (parseJson(readFileSync(join(from, 'index.json'), 'utf8')));
  writeFileSync(join(to, 'index.json'), JSON.stringify({ ...index, manifests: only }));
}
