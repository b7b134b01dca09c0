/** Reads the tables of bench/results.md, from which docs/generated/benchmarks.md and docs/sizing.md have their figures. */

/**
 * @typedef {object} Table
 * @property {readonly string[]} header
 * @property {readonly (readonly string[])[]} rows
 */

/**
 * The first table below a heading of the results.
 *
 * @param {string} results
 * @param {string} heading
 * @returns {Table}
 */
export function tableBelow(results, heading) {
  const section = results.split(`\n${heading}\n`)[1]?.split(/\n##+ /)[0] ?? '';
  const lines = section.split('\n');
  const first = lines.findIndex((line) => line.startsWith('|'));
  if (first < 0) throw new Error(`bench/results.md has no table below ${heading}`);
  const length = lines.slice(first).findIndex((line) => !line.startsWith('|'));
  const [header = [], , ...rows] = lines.slice(first, first + length).map(cellsOf);
  return { header, rows };
}

/** @param {string} line */
function cellsOf(line) {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/**
 * The cells of the first row that begins with these.
 *
 * @param {Table} table
 * @param {readonly string[]} first
 */
export function rowOf({ rows }, first) {
  const row = rows.find((cells) => first.every((cell, index) => cells[index] === cell));
  if (row === undefined)
    throw new Error(`bench/results.md has no row ${first.join(', ')}; run npm run bench, or change what reads it in scripts/generate`);
  return row;
}

/**
 * The page with another text between its marks.
 *
 * @param {{ page: string, file: string, command: string, text: string }} options
 */
export function withSection({ page, file, command, text }) {
  const begin = `<!-- begin figures: written by \`${command}\` -->`;
  const [before, rest = ''] = page.split(begin);
  const [, after] = rest.split('<!-- end figures -->');
  if (after === undefined) throw new Error(`${file} has no section ${begin}`);
  return `${before ?? ''}${begin}\n\n${text}\n\n<!-- end figures -->${after}`;
}
