/** A simulation as SVG and as one HTML file, which loads nothing. */

import type { Simulation } from './run-simulation';
import { secondsText } from './simulation-text';

const WIDTH = 760;
const PANEL = 150;
const CHART = 100;
const LEFT = 50;
const COLOURS = { admitted: '#2e7d4f', denied: '#b3261e', left: '#1f5fa8' };

export function simulationSvg(simulations: readonly Simulation[]): string {
  const most = Math.max(1, ...simulations.flatMap(({ columns }) => columns.map(({ admitted, denied }) => admitted + denied)));
  const panels = simulations.map((each, i) => panelOf(each, { top: i * PANEL, most }));
  const height = simulations.length * PANEL + 30;
  const legend = Object.entries(COLOURS).map(
    ([name, colour], i) =>
      `<rect x="${LEFT + i * 110}" y="${height - 20}" width="10" height="10" fill="${colour}"/><text x="${LEFT + 15 + i * 110}" y="${height - 11}">${name}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="admitted and denied requests over time" font-family="sans-serif" font-size="12">
<rect width="100%" height="100%" fill="#ffffff"/>
${[...panels, ...legend].join('\n')}
</svg>
`;
}

function panelOf(
  { name, columns, admitted, requests }: Simulation,
  { top, most }: { readonly top: number; readonly most: number },
): string {
  const width = (WIDTH - LEFT - 10) / Math.max(1, columns.length);
  const bottom = top + 20 + CHART;
  const parts = [`<text x="${LEFT}" y="${top + 14}" font-weight="bold">${escape(name)}: ${admitted} of ${requests} admitted</text>`];
  for (const [i, column] of columns.entries()) {
    const [up, over] = [(column.admitted / most) * CHART, (column.denied / most) * CHART];
    const x = (LEFT + i * width).toFixed(1);
    if (up > 0)
      parts.push(
        `<rect x="${x}" y="${(bottom - up).toFixed(1)}" width="${width.toFixed(1)}" height="${up.toFixed(1)}" fill="${COLOURS.admitted}"/>`,
      );
    if (over > 0)
      parts.push(
        `<rect x="${x}" y="${(bottom - up - over).toFixed(1)}" width="${width.toFixed(1)}" height="${over.toFixed(1)}" fill="${COLOURS.denied}"/>`,
      );
  }
  const line = columns.flatMap(({ left, capacity = 0 }, i) =>
    left === undefined ? [] : [`${(LEFT + (i + 1) * width).toFixed(1)},${(bottom - (left / Math.max(1, capacity)) * CHART).toFixed(1)}`],
  );
  if (line.length > 0) parts.push(`<polyline points="${line.join(' ')}" fill="none" stroke="${COLOURS.left}" stroke-width="1.5"/>`);
  parts.push(
    `<line x1="${LEFT}" y1="${bottom}" x2="${WIDTH - 10}" y2="${bottom}" stroke="#555555"/><text x="8" y="${top + 30}">${most}</text><text x="8" y="${bottom}">0</text>`,
  );
  return parts.join('\n');
}

export function simulationHtml(simulations: readonly Simulation[]): string {
  const rows = simulations.map(
    ({ name, limit, requests, admitted, denied, retries, lastAdmittedUs }) =>
      `<tr><td>${escape(name)}</td><td>${escape(limit)}</td><td>${requests}</td><td>${admitted}</td><td>${denied}</td><td>${retries}</td><td>${lastAdmittedUs === undefined ? '' : secondsText(lastAdmittedUs)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>weir simulate</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>body{font-family:sans-serif;margin:2em}td,th{padding:.2em .8em;text-align:right}td:first-child{text-align:left}</style></head>
<body><h1>weir simulate</h1>
<table><tr><th></th><th>limit</th><th>requests</th><th>admitted</th><th>denied</th><th>retries</th><th>last admitted</th></tr>
${rows.join('\n')}
</table>
${simulationSvg(simulations)}</body></html>
`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`).replace(/\p{Cc}/gu, ' ');
}
