/** The last hour as a small picture in a table: one area for each line, on the scale of the largest value. */

export interface SparkLine {
  readonly name: string;
  readonly kind: 'asked' | 'denied';
  readonly values: readonly number[];
}

interface SparklineProps {
  /** When each value was read, in seconds since 1970. */
  readonly times: readonly number[];
  readonly lines: readonly SparkLine[];
  readonly show: (value: number) => string;
  /** The span of one value: `in a minute`. */
  readonly per: string;
}

const WIDTH = 120;
const HEIGHT = 22;

/** Room for the width of the line. */
const TOP = 2;

const HOUR_S = 3_600;

export function Sparkline({ times, lines, show, per }: SparklineProps) {
  const most = Math.max(0, ...lines.flatMap(({ values }) => values));
  const texts = lines.map(({ name, values }) => {
    const last = values[values.length - 1];
    return `${name} at most ${show(Math.max(0, ...values))} ${per}, now ${last === undefined ? 'not known' : show(last)}`;
  });
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`Last hour: ${texts.join('; ')}`}
    >
      <path class="base" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
      {most > 0 && lines.map(({ name, kind, values }) => <path key={name} class={kind} d={areaOf({ times, values, most })} />)}
    </svg>
  );
}

interface AreaInput {
  readonly times: readonly number[];
  readonly values: readonly number[];
  readonly most: number;
}

/** A step for each minute. A minute that was not read stays empty. */
function areaOf({ times, values, most }: AreaInput): string {
  const end = times[times.length - 1] ?? 0;
  const x = (seconds: number) => round(Math.max(0, WIDTH * (1 - (end - seconds) / HOUR_S)));
  return values
    .map((value, index) => {
      const to = times[index] ?? end;
      const from = Math.max(to - 60, times[index - 1] ?? -Infinity);
      if (value === 0 || to <= end - HOUR_S) return '';
      return `M${x(from)} ${HEIGHT}V${round(HEIGHT - (value / most) * (HEIGHT - TOP))}H${x(to)}V${HEIGHT}Z`;
    })
    .join('');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
