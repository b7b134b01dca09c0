/** A simulation drawn over time: admitted and denied attempts as bars, and what is left of the limit as a line. */

import type { Simulation } from '../../src/program/cli/simulate/run-simulation';
import { secondsText } from '../../src/program/cli/simulate/simulation-text';

const WIDTH = 600;
const HEIGHT = 120;

interface PictureProps {
  readonly simulation: Simulation;
  /** The highest bar of all pictures, so that they can be compared. */
  readonly most: number;
}

export function Picture({ simulation: { name, limit, columns, admitted, denied, requests }, most }: PictureProps) {
  const width = WIDTH / Math.max(1, columns.length);
  const capacity = Math.max(1, ...columns.map((each) => each.capacity ?? 0));
  const y = (value: number, of: number) => HEIGHT - (value / of) * HEIGHT;
  const line = columns.flatMap(({ left }, i) => (left === undefined ? [] : [`${(i + 1) * width},${y(left, capacity)}`]));
  const step = (columns[1]?.fromUs ?? 0) - (columns[0]?.fromUs ?? 0);
  return (
    <figure data-simulation={name}>
      <figcaption>
        <strong>{name}</strong> {limit}: {admitted} of {requests} admitted, {denied} denied
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${name}: requests over time`}>
        {columns.map((column, i) => (
          <g key={i}>
            <Bar kind="admitted" x={i * width} width={width} from={0} to={column.admitted} most={most} />
            <Bar kind="denied" x={i * width} width={width} from={column.admitted} to={column.admitted + column.denied} most={most} />
          </g>
        ))}
        <polyline class="left" points={line.join(' ')} />
      </svg>
      <p class="axis">
        <span>0s</span>
        <span>
          bars: at most {most}, line: left of {capacity}
        </span>
        <span>{secondsText((columns.at(-1)?.fromUs ?? 0) + step)}</span>
      </p>
    </figure>
  );
}

interface BarProps {
  readonly kind: 'admitted' | 'denied';
  readonly x: number;
  readonly width: number;
  readonly from: number;
  readonly to: number;
  readonly most: number;
}

function Bar({ kind, x, width, from, to, most }: BarProps) {
  if (to === from) return null;
  return <rect class={kind} x={x} width={width} y={HEIGHT - (to / most) * HEIGHT} height={((to - from) / most) * HEIGHT} />;
}
