/** A simulation as a picture: admitted and denied requests over time as bars, and what is left of the limit as a line. */

import { showCount } from '../api/show';

interface Column {
  readonly admitted: number;
  readonly denied: number;
  /** Absent: nothing limits the request. */
  readonly left?: number;
}

interface SimulationPictureProps {
  readonly columns: readonly Column[];
  /** Most hits of the limit that binds. */
  readonly capacity: number;
  /** The sentence that says the same. */
  readonly label: string;
}

const WIDTH = 720;
const HEIGHT = 120;

export function SimulationPicture({ columns, capacity, label }: SimulationPictureProps) {
  const most = Math.max(1, ...columns.map(({ admitted, denied }) => admitted + denied));
  const width = WIDTH / Math.max(1, columns.length);
  const y = (value: number, of: number) => round(HEIGHT - (value / of) * HEIGHT);
  const line = columns.flatMap(({ left }, i) =>
    left === undefined ? [] : [`${round((i + 1) * width)},${y(left, Math.max(1, capacity))}`],
  );
  return (
    <figure class="simulation">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
        {columns.map(({ admitted, denied }, i) => (
          <g key={i}>
            <rect
              class="admitted"
              x={round(i * width)}
              width={round(width)}
              y={y(admitted, most)}
              height={round((admitted / most) * HEIGHT)}
            />
            <rect
              class="denied"
              x={round(i * width)}
              width={round(width)}
              y={y(admitted + denied, most)}
              height={round((denied / most) * HEIGHT)}
            />
          </g>
        ))}
        {line.length > 0 && <polyline class="left" points={line.join(' ')} />}
      </svg>
      <figcaption>
        {label} Bars: admitted below, denied above, at most {showCount(most)} in a part of the time. Line: what is left of{' '}
        {showCount(capacity)}.
      </figcaption>
    </figure>
  );
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
