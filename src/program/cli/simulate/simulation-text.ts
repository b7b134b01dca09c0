/** A simulation as a table and a picture in the terminal, and as JSON. */

import { US_PER_S } from '../../../lib/time-units';
import type { Column, Simulation } from './run-simulation';

const BARS = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** One after the other: the table, then a picture of each simulation. */
export function simulationText(simulations: readonly Simulation[]): string {
  return `${[tableOf(simulations), ...simulations.map((each) => pictureOf(each, simulations))].join('\n\n')}\n`;
}

export function simulationJson(simulations: readonly Simulation[]): string {
  return `${JSON.stringify({ simulations }, null, 2)}\n`;
}

function tableOf(simulations: readonly Simulation[]): string {
  const head = ['', 'limit', 'requests', 'admitted', 'denied', 'attempts', 'retries', 'last admitted'];
  const rows = simulations.map(({ name, limit, requests, admitted, denied, attempts, retries, lastAdmittedUs }) => [
    name,
    limit === '' ? 'none' : limit,
    ...[requests, admitted, denied, attempts, retries].map(String),
    lastAdmittedUs === undefined ? '-' : secondsText(lastAdmittedUs),
  ]);
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, i) => (i < 2 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Heights are shared by all simulations, so that pictures can be compared. */
function pictureOf({ name, columns }: Simulation, all: readonly Simulation[]): string {
  const most = Math.max(1, ...all.flatMap((each) => each.columns.flatMap(({ admitted, denied }) => [admitted, denied])));
  const lines = [
    ['admitted', columns.map(({ admitted }) => bar(admitted, most)), `at most ${most}`],
    ['denied', columns.map(({ denied }) => bar(denied, most)), ''],
    ['left', columns.map(({ left = 0, capacity = 1 }) => bar(left, Math.max(1, capacity))), `of ${columns[0]?.capacity ?? 'no limit'}`],
  ] as const;
  const picture = lines.map(([label, bars, note]) => `  ${label.padEnd(8)} |${bars.join('')}| ${note}`.trimEnd());
  return [name, ...picture, axisOf(columns)].join('\n');
}

/** Anything above zero is seen. */
function bar(value: number, most: number): string {
  return BARS[value <= 0 ? 0 : Math.max(1, Math.round((value / most) * (BARS.length - 1)))] ?? ' ';
}

function axisOf(columns: readonly Column[]): string {
  const step = (columns[1]?.fromUs ?? 0) - (columns[0]?.fromUs ?? 0);
  const endUs = (columns.at(-1)?.fromUs ?? 0) + step;
  const end = `${(endUs / US_PER_S).toFixed(endUs < 10 * US_PER_S ? 2 : 0)}s`;
  return `  ${''.padEnd(8)}  0s${end.padStart(Math.max(1, columns.length - 2))}`;
}

/** `61s`, `299.091s`: to the millisecond. */
export function secondsText(us: number): string {
  return `${Number((us / US_PER_S).toFixed(3))}s`;
}
