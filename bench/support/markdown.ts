/** Figures as text, and tables of them in Markdown: the same in every report. */

import type { Spread } from './statistics';

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}

export function spread({ median, min, max }: Spread, format: (value: number) => string): string {
  return `${format(median)} (${format(min)} to ${format(max)})`;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function percent(share: number): string {
  return `${(share * 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })} %`;
}

/** Three significant digits at any size: 0.0312, 3.12, 31.2, 312. */
export function threeDigits(value: number): string {
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  return value.toLocaleString('en-US', {
    minimumFractionDigits: Math.max(0, 2 - magnitude),
    maximumFractionDigits: Math.max(0, 2 - magnitude),
  });
}
