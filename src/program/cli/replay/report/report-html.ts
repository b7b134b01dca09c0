/** The report of a replay as one file of HTML with drawings and no network. */

import type { ReplayReport, StepReport } from './replay-report';
import { changesOf, keysTable, rulesTable, summaryOf } from './report-text';

const WIDTH = 900;
const HEIGHT = 160;

const STYLE = `body{font:14px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.25rem .5rem;border-bottom:1px solid #d0d7de}td.n,th.n{text-align:right}
svg{width:100%;height:auto}.q{fill:#afb8c1}.d{fill:#cf222e}.a{fill:#1a7f37}text{font-size:11px;fill:#57606a}`;

/** The number of each step that a drawing shows. */
interface Series {
  readonly title: string;
  readonly kind: 'q' | 'd' | 'a';
  readonly of: (step: StepReport) => number;
}

export function formatHtml(report: ReplayReport): string {
  const { configurations, over_time: time } = report;
  const series: Series[] = [
    { title: 'Requests', kind: 'q', of: ({ requests }) => requests },
    ...configurations.map(({ name }, i): Series => ({ title: `Denied by ${name}`, kind: 'd', of: ({ denied }) => denied[i] ?? 0 })),
  ];
  if (configurations.length > 1) {
    series.push({ title: 'Newly denied', kind: 'd', of: ({ newly_denied: count }) => count });
    series.push({ title: 'Newly admitted', kind: 'a', of: ({ newly_admitted: count }) => count });
  }
  const body = [
    '<h1>weir replay</h1>',
    `<ul>${summaryOf(report)
      .map((line) => `<li>${escaped(line)}</li>`)
      .join('')}</ul>`,
    ...series.map((each) => drawing(each, { steps: time.steps, stepS: time.step_s })),
    '<h2>Rules</h2>',
    table(rulesTable(report)),
    ...changesOf(report).flatMap(({ title, changed }) => [`<h2>${title}</h2>`, table(keysTable(changed.keys))]),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>weir replay</title><style>${STYLE}</style></head><body>
${body.join('\n')}
</body></html>
`;
}

/** A bar for each step; those of one drawing have one scale. */
function drawing({ title, kind, of }: Series, { steps, stepS }: { readonly steps: readonly StepReport[]; readonly stepS: number }): string {
  const [first] = steps;
  if (first === undefined) return '';
  const placeOf = ({ time }: StepReport) => Math.round((Date.parse(time) - Date.parse(first.time)) / (stepS * 1_000));
  const places = placeOf(steps.at(-1) ?? first) + 1;
  const most = Math.max(1, ...steps.map(of));
  const width = WIDTH / places;
  const bars = steps.map((step) => {
    const height = (of(step) / most) * HEIGHT;
    return `<rect class="${kind}" x="${(placeOf(step) * width).toFixed(1)}" y="${(HEIGHT - height).toFixed(1)}" width="${Math.max(1, width - 1).toFixed(1)}" height="${height.toFixed(1)}"><title>${escaped(step.time)}: ${of(step)}</title></rect>`;
  });
  return `<h2>${escaped(title)}</h2>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT + 20}" role="img" aria-label="${escaped(title)} over time">${bars.join('')}<text x="0" y="${HEIGHT + 15}">${escaped(first.time)}, at most ${most} in ${stepS} s</text></svg>`;
}

function table({ head, rows }: ReturnType<typeof rulesTable>): string {
  const cell = (tag: string) => (text: string) => `<${tag}${/^[\d,]+$/.test(text) ? ' class="n"' : ''}>${escaped(text)}</${tag}>`;
  return `<table><tr>${head.map(cell('th')).join('')}</tr>${rows.map((row) => `<tr>${row.map(cell('td')).join('')}</tr>`).join('\n')}</table>`;
}

const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
]);

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => ENTITIES.get(mark) ?? mark).replace(/\p{C}/gu, '�');
}
