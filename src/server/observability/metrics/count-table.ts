/** Counters of many series as plain numbers in pages; a reading takes a copy. */

export type Labels = Readonly<Record<string, string | undefined>>;

/** Rows of a page. */
const PAGE_ROWS = 1024;

/** The place of a series' counters. */
export interface CountRow {
  readonly page: Float64Array;
  /** Index of the first counter in the page. */
  readonly first: number;
}

/** A snapshot of one counter for all rows. */
export interface CountColumn {
  /** Shared by all columns with the same series. */
  readonly table: CountRows;
  /** By row; rows beyond the end were added after the snapshot. */
  readonly counts: Float64Array;
  /** The values of a gauge: zeros are shown too, and statsd gets none. Absent: a counter. */
  readonly isGauge?: boolean;
}

/** A counter of 0 has counted nothing yet. */
export function isShown(value: number, { isGauge = false }: Pick<CountColumn, 'isGauge'>): boolean {
  return value > 0 || isGauge;
}

/** Label sets in order of addition; none is ever removed. */
export interface CountRows {
  /** The same name in every process. */
  readonly name: string;
  readonly rows: readonly Labels[];
}

export class CountTable implements CountRows {
  readonly rows: Labels[] = [];
  private readonly pages: Float64Array[] = [];

  /** `columns`: counters per row. */
  constructor(
    readonly name: string,
    private readonly columns: number,
  ) {}

  add(labels: Labels): CountRow {
    const row = this.rows.push(labels) - 1;
    if (row % PAGE_ROWS === 0) this.pages.push(new Float64Array(PAGE_ROWS * this.columns));
    const page = this.pages[this.pages.length - 1];
    if (page === undefined) throw new Error('a table without a page');
    return { page, first: (row % PAGE_ROWS) * this.columns };
  }

  /** Returns a copy, which later counting does not change. */
  read(column: number): CountColumn {
    const counts = new Float64Array(this.rows.length);
    let row = 0;
    for (const page of this.pages) {
      for (let i = column; i < page.length && row < counts.length; i += this.columns) {
        counts[row] = page[i] ?? 0;
        row += 1;
      }
    }
    return { table: this, counts };
  }
}

export function count({ page, first }: CountRow, column: number, hits: number): void {
  page[first + column] = (page[first + column] ?? 0) + hits;
}
