/** The table of the chart's values for its README: a row for each value that has a comment with two dashes in values.yaml. */
import { isMap, isScalar, parseDocument } from 'yaml';

/** @typedef {{ readonly path: string, readonly byDefault: string, readonly meaning: string }} Row */

/**
 * The rows, in the order of values.yaml. A value without a comment of its own, or a comment without a value, is an error.
 *
 * @param {string} text
 * @returns {readonly Row[]}
 */
export function valueRows(text) {
  /** @type {Row[]} */
  const rows = [];
  const { contents } = parseDocument(text);
  /** @type {(map: unknown, prefix: string, first?: string | null) => void} */
  const collect = (map, prefix, first) => {
    if (!isMap(map)) throw new Error(`values.yaml: ${prefix} is not a map; write a comment that begins with -- before it`);
    for (const [place, { key, value }] of map.items.entries()) {
      if (!isScalar(key)) throw new Error(`values.yaml: a key of ${prefix} is not a text`);
      const path = `${prefix}${String(key.value)}`;
      // The parser gives a comment before the first key to the map around it.
      const comment = key.commentBefore ?? (place === 0 ? first : undefined);
      const meaning = meaningOf(comment);
      if (meaning === undefined) collect(value, `${path}.`, isMap(value) ? value.commentBefore : undefined);
      else rows.push({ path, byDefault: JSON.stringify(/** @type {import('yaml').Node} */ (value).toJSON()), meaning });
    }
  };
  collect(contents, '', isMap(contents) ? contents.commentBefore : undefined);
  return rows;
}

/** @param {readonly Row[]} rows */
export function renderValues(rows) {
  const lines = rows.map(({ path, byDefault, meaning }) => `| \`${path}\` | \`${byDefault}\` | ${meaning.replaceAll('|', '\\|')} |`);
  return ['| value | default | meaning |', '|---|---|---|', ...lines].join('\n');
}

/** @param {string | null | undefined} comment */
function meaningOf(comment) {
  const [, meaning] = /(?:^|\n) -- (.*(?:\n(?! --).*)*)$/.exec(comment ?? '') ?? [];
  return meaning?.replaceAll(/\s*\n\s*/g, ' ');
}
