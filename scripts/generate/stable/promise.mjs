/** What breaks the promise of docs/policy.md on names: a name that is gone, or goes too early. */

/** @typedef {import('./names.mjs').Names} Names */
/** `since` is the version whose changelog announces the end of the name, `until` the first version that may lack it. */
/** @typedef {{ readonly kind: string, readonly name: string, readonly since: string, readonly until: string, readonly instead: string }} Deprecation */

/** A name works in this many minor versions at least after the one that announces its end. */
const MINOR_VERSIONS = 2;

/**
 * Sentences on what is wrong.
 *
 * @param {{ listed: Names, present: Names, deprecated: readonly Deprecation[], version: string, changelog: string }} input
 */
export function brokenPromises({ listed, present, deprecated, version, changelog }) {
  const gone = namesOf(listed).filter(({ kind, name }) => present[kind]?.includes(name) !== true);
  const faults = gone.flatMap(({ kind, name }) => {
    const row = deprecated.find((each) => each.kind === kind && each.name === name);
    if (row === undefined) return [`The ${kind} ${name} is gone. Restore it, or deprecate it first (docs/policy.md).`];
    return compare(version, row.until) < 0 ? [`The ${kind} ${name} is gone in ${version}, but has to work until ${row.until}.`] : [];
  });
  return [...faults, ...deprecated.flatMap((row) => rowFaults(row, { listed, changelog }))];
}

/** @param {Names} names */
function namesOf(names) {
  return Object.entries(names).flatMap(([kind, each]) => each.map((name) => ({ kind, name })));
}

/**
 * @param {Deprecation} row
 * @param {{ listed: Names, changelog: string }} places
 */
function rowFaults({ kind, name, since, until }, { listed, changelog }) {
  const faults = [];
  if (listed[kind]?.includes(name) !== true) faults.push(`The ${kind} ${name} is deprecated, and not in docs/generated/stable-names.json.`);
  const soonest = soonestEnd(since);
  if (compare(until, soonest) < 0) faults.push(`The ${kind} ${name}, deprecated in ${since}, has to work until ${soonest}.`);
  const section = changelog.split(/^(?=## )/m).find((text) => text.startsWith(`## [${since}]`)) ?? '';
  if (!section.includes(name)) faults.push(`The section ${since} of CHANGELOG.md does not name the deprecated ${kind} ${name}.`);
  return faults;
}

/**
 * Before 1.0.0 two minor versions later; after it the next major version.
 *
 * @param {string} since
 */
function soonestEnd(since) {
  const [major, minor] = numbersOf(since);
  return major === 0 ? `0.${minor + 1 + MINOR_VERSIONS}.0` : `${major + 1}.0.0`;
}

/**
 * Below 0 if `a` is before `b`.
 *
 * @param {string} a
 * @param {string} b
 */
function compare(a, b) {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2];
}

/**
 * @param {string} version
 * @returns {readonly [major: number, minor: number, patch: number]}
 */
function numbersOf(version) {
  const [, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  if (patch === undefined) throw new Error(`${version} is not a version`);
  return [Number(major), Number(minor), Number(patch)];
}
