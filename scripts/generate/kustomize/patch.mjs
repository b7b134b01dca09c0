/** The strategic merge patch that makes one object of another: what is new or different, and null for what is gone. */

/** @typedef {{ [name: string]: unknown }} Map */

/**
 * @param {Map} before
 * @param {Map} after
 */
export function patchOf(before, after) {
  const { apiVersion, kind, metadata } = after;
  const { name } = /** @type {{ name: string }} */ (metadata);
  return { apiVersion, kind, metadata: { name }, ...changesOf(before, after) };
}

/**
 * @param {Map} before
 * @param {Map} after
 * @returns {Map}
 */
function changesOf(before, after) {
  /** @type {Map} */
  const changes = {};
  for (const name of Object.keys(before)) if (!(name in after)) changes[name] = null;
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (JSON.stringify(old) === JSON.stringify(value)) continue;
    changes[name] =
      isMap(old) && isMap(value) ? changesOf(old, value) : isNamedList(old) && isNamedList(value) ? entriesOf(old, value) : value;
  }
  return changes;
}

/**
 * Entries have a name, by which Kubernetes merges them; the entry of a container says only what differs.
 *
 * @param {readonly Map[]} before
 * @param {readonly Map[]} after
 */
function entriesOf(before, after) {
  const gone = before.filter((entry) => !after.some(({ name }) => name === entry.name));
  if (gone.length > 0) throw new Error(`a patch that removes ${gone.map(({ name }) => String(name)).join(', ')} is not supported`);
  return after.flatMap((entry) => {
    const old = before.find(({ name }) => name === entry.name);
    if (old === undefined) return [entry];
    if (JSON.stringify(old) === JSON.stringify(entry)) return [];
    return [{ name: entry.name, ...changesOf(old, entry) }];
  });
}

/**
 * @param {unknown} value
 * @returns {value is Map}
 */
function isMap(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * @param {unknown} value
 * @returns {value is Map[]}
 */
function isNamedList(value) {
  return Array.isArray(value) && value.every((entry) => isMap(entry) && typeof entry.name === 'string');
}
