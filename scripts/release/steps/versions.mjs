/** Which tags follow a version: those that move to it, and the tag of npm under which it is installed. */

/**
 * Negative if the first is older. A version before a release (`-rc.1`) is older than it.
 *
 * @param {string} a
 * @param {string} b
 */
export function compareVersions(a, b) {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (const [index, number] of left.numbers.entries()) {
    const difference = number - (right.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (left.early === right.early) return 0;
  if (left.early === '' || right.early === '') return left.early === '' ? 1 : -1;
  return left.early.localeCompare(right.early, 'en', { numeric: true });
}

/** @param {string} version */
export function isEarly(version) {
  return partsOf(version).early !== '';
}

/**
 * `0` and `0.1` for 0.1.2, each if no newer release has it already.
 *
 * @param {string} version
 * @param {readonly string[]} published Versions and other tags.
 */
export function movingTags(version, published) {
  if (isEarly(version)) return [];
  const [major = '', minor = ''] = version.split('.');
  const releases = published.filter((each) => /^\d+\.\d+\.\d+$/.test(each));
  return [`${major}.${minor}`, major].filter(
    (tag) => !releases.some((each) => each.startsWith(`${tag}.`) && compareVersions(each, version) > 0),
  );
}

/**
 * `latest` is what `npm install NAME` takes: the newest release. A fix of an older line has a tag of its line.
 *
 * @param {string} version
 * @param {string | undefined} latest The version that has the tag now.
 */
export function npmTag(version, latest) {
  if (isEarly(version)) return 'next';
  if (latest === undefined || isEarly(latest) || compareVersions(version, latest) >= 0) return 'latest';
  return `release-${version.split('.').slice(0, 2).join('.')}`;
}

/** @param {string} version */
function partsOf(version) {
  const [, numbers = '', early = ''] = /^(\d+\.\d+\.\d+)(?:-(.+))?$/.exec(version) ?? [];
  return { numbers: numbers.split('.').map(Number), early };
}
