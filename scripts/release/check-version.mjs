/**
 * Checks that a tag, package.json, the Helm chart and CHANGELOG.md name one version, and that every file says where the project is:
 * `node scripts/release/check-version.mjs v1.2.3`. `--repository URL` is where the release is built. `--notes` prints the section of the changelog instead.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT, exitWith, isMain } from '../process/repository.mjs';
import { HOME_FILE, malformed, readHome, unchosen } from './home/home.mjs';
import { placeFaults } from './home/places.mjs';
import { unpinnedFaults } from './images.mjs';

/** `v1.2.3`, or a version before it such as `v1.2.3-rc.1`. */
const TAG = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?)$/;
/** `## [1.2.3] - 2026-01-31`. */
const HEADING = /^## \[(\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?)\] - \d{4}-\d{2}-\d{2}$/m;

/**
 * What does not fit, as sentences.
 *
 * @param {{ tag: string, repository?: string, root?: string }} input
 * @returns {string[]}
 */
export function releaseFaults({ tag, repository, root = ROOT }) {
  const version = TAG.exec(tag)?.[1];
  if (version === undefined) return [`The tag ${tag} is not a version; write it as v1.2.3 or v1.2.3-rc.1.`];
  const manifest = /** @type {Manifest} */ (parseJson(read(root, 'package.json')));
  const lock = /** @type {{ version?: string }} */ (parseJson(read(root, 'package-lock.json')));
  const chart = read(root, 'deploy', 'helm', 'weir', 'Chart.yaml');
  /** @type {Readonly<Record<string, string | undefined>>} */
  const found = {
    'version in package.json': manifest.version,
    'version in package-lock.json': lock.version,
    'version in deploy/helm/weir/Chart.yaml': /^version: "?([^"\s]+)"?$/m.exec(chart)?.[1],
    'appVersion in deploy/helm/weir/Chart.yaml': /^appVersion: "?([^"\s]+)"?$/m.exec(chart)?.[1],
    'first version in CHANGELOG.md': HEADING.exec(read(root, 'CHANGELOG.md'))?.[1],
  };
  const differing = Object.entries(found)
    .filter(([, value]) => value !== version)
    .map(([place, value]) => `The ${place} is ${value ?? 'missing'}, but the tag is ${tag}.`);
  return [...differing, ...homeFaults(root, repository), ...unpinnedFaults(root)];
}

/** @typedef {{ readonly version?: string }} Manifest */

/**
 * The registry of the packages refuses their provenance if they do not name the repository that builds them, and then the image and
 * the chart would be public without them.
 *
 * @param {string} root
 * @param {string | undefined} builder
 */
function homeFaults(root, builder) {
  const home = readHome(root);
  const faults = [...malformed(home), ...unchosen(home), ...placeFaults({ root, home })];
  const { repository } = home;
  if (repository === '' || builder === undefined || repository.toLowerCase() === builder.toLowerCase()) return faults;
  return [...faults, `repository in ${HOME_FILE} is ${repository}, but ${builder} builds the release; set that.`];
}

/**
 * The section of a version in the changelog, without its heading.
 *
 * @param {{ tag: string, root?: string }} input
 */
export function releaseNotes({ tag, root = ROOT }) {
  const sections = read(root, 'CHANGELOG.md').split(/^(?=## )/m);
  const section = sections.find((text) => text.startsWith(`## [${tag.slice(1)}]`)) ?? '';
  return section.split('\n').slice(1).join('\n').trim();
}

/** @param {readonly [string, ...string[]]} place */
function read(...place) {
  return readFileSync(join(...place), 'utf8');
}

if (isMain(import.meta.url)) {
  const { values, positionals } = parseArgs({
    options: { notes: { type: 'boolean' }, repository: { type: 'string' } },
    allowPositionals: true,
  });
  const tag = positionals[0] ?? '';
  const faults = releaseFaults({ tag, ...(values.repository !== undefined && { repository: values.repository }) });
  if (faults.length > 0) exitWith(faults.join('\n'));
  console.log(
    values.notes === true
      ? releaseNotes({ tag })
      : `${tag} is the version of the package, the chart and the changelog, and all files say where the project is.`,
  );
}
