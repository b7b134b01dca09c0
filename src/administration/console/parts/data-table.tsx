/** A table of data: with a caption, and a scroll of its own where the page is narrower. */

import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row, index: number) => ComponentChildren;
  /** Right-aligned, with figures of one width. */
  readonly isNumber?: boolean;
  /** Names the row. */
  readonly isHead?: boolean;
}

export interface DataTableProps<Row> {
  readonly caption: string;
  /** Only for readers of the screen, if a heading says the same. */
  readonly hidesCaption?: boolean;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string;
  /** Shown instead of rows. */
  readonly empty: ComponentChildren;
}

export function DataTable<Row>({ caption, hidesCaption = false, columns, rows, keyOf, empty }: DataTableProps<Row>) {
  return (
    <div class="table" role="group" aria-label={caption} tabIndex={0}>
      <table>
        <caption class={hidesCaption ? 'unseen' : undefined}>{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, isNumber }) => (
              <th key={head} scope="col" class={isNumber === true ? 'number' : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.length === 0 && (
            <tr>
              <td class="empty" colSpan={columns.length}>
                {empty}
              </td>
            </tr>
          )}
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map(({ head, cell, isNumber, isHead }) => {
                const kind = isNumber === true ? 'number' : undefined;
                return isHead === true ? (
                  <th key={head} scope="row" class={kind}>
                    {cell(row, index)}
                  </th>
                ) : (
                  <td key={head} class={kind}>
                    {cell(row, index)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
