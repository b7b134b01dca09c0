/** A chart over time: lines of uPlot in the colours of the theme, and its last values as text. */

import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { colours } from '../api/theme';

export interface Line {
  readonly name: string;
  /** A custom property of the stylesheet. */
  readonly colour: string;
  readonly values: readonly (number | undefined)[];
  /** Dashes tell lines apart without colour. */
  readonly dash?: readonly number[];
}

export interface ChartProps {
  readonly title: string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly show: (value: number) => string;
  /** The chart always shows this time, so that a line never seems steeper because it is new. */
  readonly spanS: number;
}

const HEIGHT = 168;

const AXIS_PX = 56;

/** Height of the axis of time. */
const CLOCK_PX = 28;

/** Between two times on the axis. */
const TICK_PX = 90;

const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

export function Chart({ title, times, lines, show, spanS }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const shown = useRef({ times, lines, show, spanS });
  shown.current = { times, lines, show, spanS };
  const chosen = colours.value;
  const names = lines.map(({ name }) => name).join();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    plot.current = new UPlot(optionsFor(element, shown.current), dataOf(shown.current), element);
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [chosen, names, spanS]);
  useEffect(() => {
    plot.current?.setData(dataOf({ times, lines }));
  }, [times, lines]);
  const last = lines.map(({ name, values }) => {
    const value = values[values.length - 1];
    return `${name}: ${value === undefined ? 'none' : show(value)}`;
  });
  return (
    <figure class="chart">
      <figcaption>
        <span class="title">{title}</span>
        {lines.map(({ name, colour, dash, values }) => (
          <span class="key" key={name}>
            <svg viewBox="0 0 18 4" width="18" height="4" aria-hidden="true">
              <path d="M0 2h18" style={{ stroke: `var(${colour})`, strokeDasharray: dash?.join(' ') ?? 'none' }} />
            </svg>
            {name} <b>{values.length === 0 ? '–' : showLast(values, show)}</b>
          </span>
        ))}
      </figcaption>
      <div ref={place} class="plot" role="img" aria-label={`${title}, ${times.length} readings. Now ${last.join(', ')}.`} />
    </figure>
  );
}

function showLast(values: Line['values'], show: ChartProps['show']): string {
  const value = values[values.length - 1];
  return value === undefined ? '–' : show(value);
}

function showClock(seconds: number): string {
  return CLOCK.format(seconds * 1_000);
}

function dataOf({ times, lines }: Pick<ChartProps, 'times' | 'lines'>): UPlot.AlignedData {
  return [[...times], ...lines.map(({ values }) => values.map((value) => value ?? null))];
}

function optionsFor(element: HTMLElement, { lines, show, spanS }: Pick<ChartProps, 'lines' | 'show' | 'spanS'>): UPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const axis: UPlot.Axis = {
    stroke: colour('--muted'),
    font: `11px ${style.fontFamily}`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(1, element.clientWidth),
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 5 } },
    scales: { x: { range: (_, __, last) => [last - spanS, last] }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, size: CLOCK_PX, space: TICK_PX, values: (_, splits) => splits.map(showClock) },
      { ...axis, size: AXIS_PX, values: (_, splits) => splits.map((value) => show(value)) },
    ],
    series: [
      {},
      ...lines.map(({ name, colour: property, dash }) => ({
        label: name,
        stroke: colour(property),
        width: 1.5,
        // A line needs two readings.
        points: { show: (plot: UPlot) => plot.data[0].length < 2 },
        ...(dash && { dash: [...dash] }),
      })),
    ],
  };
}
