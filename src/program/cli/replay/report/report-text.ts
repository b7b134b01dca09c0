/** The report of a replay for people: plain text, and Markdown for a merge request. */

import type { ChangedKey } from '../figures/changed-keys';
import type { ChangedReport, ReplayReport, RuleReport } from './replay-report';

/** Rules of a table; the JSON has all. */
const RULES_SHOWN = 50;

interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export function formatText(report: ReplayReport): string {
  const lines = [...summaryOf(report).map(plain), '', ...textTable(rulesTable(report))];
  for (const { title, changed } of changesOf(report)) {
    lines.push('', `${title}: ${countText(changed.requests)}`);
    if (changed.keys.length > 0) lines.push(...textTable(keysTable(changed.keys)));
  }
  return `${lines.join('\n')}\n`;
}

export function formatMarkdown(report: ReplayReport): string {
  const lines = ['## weir replay', '', ...summaryOf(report).map((line) => `- ${line}`), '', ...markdownTable(rulesTable(report))];
  for (const { title, changed } of changesOf(report)) {
    lines.push('', `### ${title}: ${countText(changed.requests)}`, '');
    if (changed.keys.length > 0) lines.push(...markdownTable(keysTable(changed.keys)));
  }
  return `${lines.join('\n')}\n`;
}

/** The requests that the candidate decides otherwise; without a candidate, those that are denied. */
export function changesOf(report: ReplayReport): { readonly title: string; readonly changed: ChangedReport }[] {
  if (report.denied !== undefined) return [{ title: 'Denied requests by key', changed: report.denied }];
  return [
    { title: 'Newly denied', changed: report.newly_denied },
    { title: 'Newly admitted', changed: report.newly_admitted },
  ];
}

export function summaryOf(report: ReplayReport): string[] {
  const { requests, from = '', to = '', configurations } = report;
  const lines = [requests === 0 ? 'No requests.' : `${countText(requests)} from ${from} to ${to}`];
  for (const { name, denied, evictions } of configurations) {
    lines.push(`${name}: ${wholeText(denied)} denied (${shareText(denied, requests)})`);
    if (evictions > 0)
      lines.push(
        `${name}: ${wholeText(evictions)} buckets were evicted for lack of room, so more was admitted than with all; use a larger --buckets-max`,
      );
  }
  if (report.ended_early !== undefined) lines.push(`Not complete: ${report.ended_early}.`);
  if (report.lines_wrong > 0) lines.push(`${wholeText(report.lines_wrong)} wrong lines were left out`);
  if (report.lines_without_descriptors > 0)
    lines.push(`${wholeText(report.lines_without_descriptors)} lines have the fields of no descriptor, so they send no request`);
  if (report.keys_sampled !== undefined) lines.push(`Peaks are those of a random ${shareText(report.keys_sampled, 1)} of the keys.`);
  return lines;
}

export function rulesTable({ rules, requests, configurations, suggest }: ReplayReport): Table {
  const hasCandidate = configurations.length > 1;
  const head = ['rule', 'limit', 'requests', 'denied', ...(hasCandidate ? ['candidate', 'its denied'] : []), 'peak p50', 'p99', 'max'];
  if (suggest !== undefined) head.push(`denies at most ${shareText(suggest, 1)}`);
  const rows = rules.slice(0, RULES_SHOWN).map((rule) => ruleRow(rule, { hasCandidate, hasSuggestion: suggest !== undefined }));
  if (rules.length > RULES_SHOWN) rows.push([`… ${rules.length - RULES_SHOWN} more`]);
  if (rules.length === 0 && requests > 0) rows.push(['no request matched a rule with a limit']);
  return { head, rows };
}

function ruleRow(
  { rule, limits, requests, denied, candidate, peak, suggested }: RuleReport,
  { hasCandidate, hasSuggestion }: { readonly hasCandidate: boolean; readonly hasSuggestion: boolean },
): string[] {
  return [
    rule,
    limits.map(({ limit }) => limit).join(', '),
    wholeText(requests),
    wholeText(denied),
    ...(hasCandidate ? [candidate?.limits.join(', ') ?? 'none', wholeText(candidate?.denied ?? 0)] : []),
    wholeText(peak.p50),
    wholeText(peak.p99),
    wholeText(peak.max),
    ...(hasSuggestion ? [suggested === undefined ? '' : wholeText(suggested)] : []),
  ];
}

export function keysTable(keys: readonly ChangedKey[]): Table {
  return {
    head: ['rule', 'entries', 'requests'],
    rows: keys.map(({ rule, entries, requests, error }) => [
      rule,
      entries.map(({ key, value }) => `${key}=${value}`).join(', '),
      error === undefined ? wholeText(requests) : `${wholeText(requests - error)} to ${wholeText(requests)}`,
    ]),
  };
}

function textTable({ head, rows }: Table): string[] {
  const cells = [head, ...rows].map((row) => row.map(plain));
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => (isNumber(cell) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

function markdownTable({ head, rows }: Table): string[] {
  const line = (row: readonly string[]) => `| ${row.map(markdownText).join(' | ')} |`;
  return [
    line(head),
    `|${head.map(() => '---|').join('')}`,
    ...rows.map((row) => line(row.concat(new Array<string>(head.length - row.length).fill('')))),
  ];
}

function isNumber(cell: string): boolean {
  return /^[\d,]+$/.test(cell);
}

/** Names and values come from a log, so they must not move the cursor of a terminal. */
function plain(text: string): string {
  return text.replace(/\p{C}/gu, '�');
}

/** Nothing of a log is a mark of Markdown or of HTML. */
function markdownText(text: string): string {
  return plain(text).replace(/[\\`*_{}[\]<>|#~&]/g, (mark) =>
    mark === '_' ? mark : mark === '|' ? '\\|' : mark === '<' ? '&lt;' : mark === '&' ? '&amp;' : `\\${mark}`,
  );
}

function countText(requests: number): string {
  return `${wholeText(requests)} ${requests === 1 ? 'request' : 'requests'}`;
}

export function wholeText(number: number): string {
  return number.toLocaleString('en-US');
}

export function shareText(part: number, whole: number): string {
  if (whole === 0) return '0 %';
  const percent = (part / whole) * 100;
  return `${Number(percent.toPrecision(3))} %`;
}
