/** Checks that a tag, package.json, the Helm chart and CHANGELOG.md name one version: `node scripts/release/check-version.mjs v1.2.3`. `--notes` prints the section of the changelog instead. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseJson } from '../process/parse-json.mjs';
import { ROOT, exitWith, isMain } from '../process/repository.mjs';

const TAG = /^v(\d+\.\d+\.\d+)$/;
/** `## [1.2.3] - 2026-01-31`. */
const HEADING = /^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d{2}-\d{2}$/m;

/**
 * What does not fit, as sentences.
 *
 * @param {{ tag: string, root?: string }} input
 * @returns {string[]}
 */
export function versionFaults({ tag, root = ROOT }) {
  const version = TAG.exec(tag)?.[1];
  if (version === undefined) return [`The tag ${tag} is not a version; write it as v1.2.3.`];
  const manifest = /** @type {{ version?: string }} */ (parseJson(read(root, 'package.json')));
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
  return Object.entries(found)
    .filter(([, value]) => value !== version)
    .map(([place, value]) => `The ${place} is ${value ?? 'missing'}, but the tag is ${tag}.`);
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
  const { values, positionals } = parseArgs({ options: { notes: { type: 'boolean' } }, allowPositionals: true });
  const tag = positionals[0] ?? '';
  const faults = versionFaults({ tag });
  if (faults.length > 0) exitWith(faults.join('\n'));
  console.log(values.notes === true ? releaseNotes({ tag }) : `${tag} is the version of the package, the chart and the changelog.`);
}
