/** The versions of the docs that one site holds: versions.json, which the pages read, and the address without a version, which leads to the newest. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '../process/parse-json.mjs';

/** The docs of what is not released yet. */
export const UNRELEASED = 'next';

const VERSION = /^(?:next|\d{1,5}\.\d{1,5}\.\d{1,5}(?:-[0-9a-z.-]{1,30})?)$/;

/**
 * Why a text is refused as a version of the docs; undefined: it is one.
 *
 * @param {string} version
 */
export function whyNoVersion(version) {
  if (VERSION.test(version)) return undefined;
  return `--version: ${JSON.stringify(version)} is not accepted; write a version such as 0.1.0, or ${UNRELEASED}`;
}

/**
 * Adds a version to the list of a site, and writes where the site begins.
 *
 * @param {string} site Its folder, with a folder for each version.
 * @param {string} version
 */
export function addVersion(site, version) {
  const file = join(site, 'versions.json');
  const known = existsSync(file)
    ? /** @type {{ readonly versions: readonly string[] }} */ (parseJson(readFileSync(file, 'utf8'))).versions
    : [];
  const versions = [...new Set([...known, version])].sort(newestFirst);
  writeFileSync(file, `${JSON.stringify({ versions }, null, 2)}\n`);
  const begin = versions.find((each) => !each.includes('-') && each !== UNRELEASED) ?? version;
  writeFileSync(
    join(site, 'index.html'),
    `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Weir</title><meta http-equiv="refresh" content="0; url=./${begin}/"></head>
<body><a href="./${begin}/">The docs of Weir ${begin}</a></body></html>
`,
  );
}

/**
 * A release before its candidates, and what is not released at the end.
 *
 * @param {string} one
 * @param {string} other
 */
function newestFirst(one, other) {
  if (one === UNRELEASED || other === UNRELEASED) return one === other ? 0 : one === UNRELEASED ? 1 : -1;
  const [[a = '', tagA], [b = '', tagB]] = [one.split(/-(.*)/), other.split(/-(.*)/)];
  const byNumber = b.localeCompare(a, 'en', { numeric: true });
  if (byNumber !== 0 || tagA === tagB) return byNumber;
  if (tagA === undefined || tagB === undefined) return tagA === undefined ? -1 : 1;
  return tagB.localeCompare(tagA, 'en', { numeric: true });
}
