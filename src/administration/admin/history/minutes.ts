/** Values of named things by minute, over the last hour, in bounded memory. */

/** Points of a history, one a minute. */
export const MINUTES_MAX = 60;

export interface MinuteRow<Named> {
  /** Short: the rows are found by it. */
  readonly id: string;
  readonly named: Named;
  /** One for each column. */
  readonly values: readonly number[];
}

export interface Minute<Named> {
  readonly atMs: number;
  readonly rows: readonly MinuteRow<Named>[];
}

export interface MinutesOptions {
  /** Most things; of more, those with the smallest sums go. */
  readonly rowsMax: number;
  readonly columns: number;
}

interface Kept<Named> {
  readonly named: Named;
  readonly columns: readonly Float64Array[];
}

export interface MinuteView<Named> {
  /** When each minute ended, the oldest first. */
  readonly atMs: readonly number[];
  /** `columns`: the values of each minute. The largest sum of the first column comes first, then that of the next. */
  readonly rows: readonly { readonly named: Named; readonly columns: readonly (readonly number[])[] }[];
}

/** Keeps at most `rowsMax` rows of 60 numbers for each column, and what names them. */
export class Minutes<Named> {
  private readonly kept = new Map<string, Kept<Named>>();
  private readonly times: number[] = [];
  /** Where the next minute goes. */
  private next = 0;

  constructor(private readonly options: MinutesOptions) {}

  add({ atMs, rows }: Minute<Named>): void {
    const { next } = this;
    this.times[next] = atMs;
    for (const { columns } of this.kept.values()) for (const column of columns) column[next] = 0;
    for (const { id, named, values } of rows) {
      if (values.every((value) => value === 0)) continue;
      const { columns } = this.kept.get(id) ?? this.keep(id, named);
      for (const [index, column] of columns.entries()) column[next] = values[index] ?? 0;
    }
    this.next = (next + 1) % MINUTES_MAX;
    this.forget();
  }

  /** `current`: what was read since the last minute, as one more point. */
  view(current?: Minute<Named>): MinuteView<Named> {
    const order = this.times.length < MINUTES_MAX ? this.times.keys() : range(MINUTES_MAX, this.next);
    const places = [...order];
    const now = new Map((current?.rows ?? []).map((row) => [row.id, row]));
    const last = (id: string, column: number) => (current === undefined ? [] : [now.get(id)?.values[column] ?? 0]);
    const rows = Array.from(this.kept, ([id, { named, columns }]) => ({
      named,
      columns: columns.map((values, column) => [...places.map((place) => values[place] ?? 0), ...last(id, column)]),
    }));
    const fresh = (current?.rows ?? [])
      .filter(({ id, values }) => !this.kept.has(id) && values.some((value) => value > 0))
      .map(({ named, values }) => ({ named, columns: values.map((value) => [...places.map(() => 0), value]) }));
    return {
      atMs: [...places.map((place) => this.times[place] ?? 0), ...(current === undefined ? [] : [current.atMs])],
      rows: [...rows, ...fresh].sort((one, other) => compareSums(one.columns, other.columns)),
    };
  }

  private keep(id: string, named: Named): Kept<Named> {
    const kept = { named, columns: Array.from({ length: this.options.columns }, () => new Float64Array(MINUTES_MAX)) };
    this.kept.set(id, kept);
    return kept;
  }

  /** Forgets what had nothing in the hour, and beyond `rowsMax` what had least. */
  private forget(): void {
    for (const [id, { columns }] of this.kept) if (columns.every((values) => sumOf(values) === 0)) this.kept.delete(id);
    const excess = this.kept.size - this.options.rowsMax;
    if (excess <= 0) return;
    const byNeed = Array.from(this.kept).sort(([, one], [, other]) => compareSums(other.columns, one.columns));
    for (const [id] of byNeed.slice(0, excess)) this.kept.delete(id);
  }
}

/** The numbers below `length`, from `begin` on and round. */
function range(length: number, begin: number): readonly number[] {
  return Array.from({ length }, (_, index) => (begin + index) % length);
}

type Values = Iterable<number>;

/** Descending by the sums of the columns, the first column first. */
function compareSums(one: readonly Values[], other: readonly Values[]): number {
  for (const [index, values] of one.entries()) {
    const difference = sumOf(other[index] ?? []) - sumOf(values);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function sumOf(values: Values): number {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
}
