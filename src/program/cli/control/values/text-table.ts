/** Tables for people: columns as wide as their longest cell, without characters that a terminal obeys. */

import { printable } from '../../admin/printable';

export type Cell = string | number | boolean | undefined;

/** Longer cells are cut: one of them must not make all lines unreadable. `--json` has the whole text. */
const CELL_CHARS_MAX = 120;

const GAP = '  ';

/** Lines with a header. Numbers stand at the right. */
export function textTable(headers: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const lines = [headers, ...rows.map((row) => headers.map((_, column) => shown(row[column])))];
  const widths = headers.map((_, column) => Math.max(...lines.map((line) => lengthOf(line[column] ?? ''))));
  const isNumber = headers.map((_, column) => rows.length > 0 && rows.every((row) => typeof row[column] === 'number'));
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, { width: widths[column] ?? 0, atRight: isNumber[column] ?? false }))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** One line for each field. Undefined values have none. */
export function fieldList(fields: readonly (readonly [name: string, value: Cell])[]): string {
  const present = fields.filter(([, value]) => value !== undefined);
  const width = Math.max(0, ...present.map(([name]) => name.length));
  return present.map(([name, value]) => `  ${name.padEnd(width)}  ${printable(String(value))}`).join('\n');
}

function shown(cell: Cell): string {
  if (cell === undefined || cell === '') return '-';
  const text = printable(String(cell));
  return text.length > CELL_CHARS_MAX ? `${text.slice(0, CELL_CHARS_MAX - 1)}…` : text;
}

function pad(text: string, { width, atRight }: { readonly width: number; readonly atRight: boolean }): string {
  const space = ' '.repeat(Math.max(0, width - lengthOf(text)));
  return atRight ? `${space}${text}` : `${text}${space}`;
}

/** In characters, not in UTF-16 units. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}
