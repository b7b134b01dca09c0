/** Numbers, times and limits as texts for people. */

const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const SMALL = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });
const TIME = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** Shown for what is not known. */
export const NONE = '–';

export const HOUR_MS = 3_600_000;

export function showCount(value: number | undefined): string {
  return value === undefined ? NONE : value < 1_000_000 ? COUNT.format(value) : COMPACT.format(value);
}

export function showRate(perS: number | undefined): string {
  return perS === undefined ? NONE : perS >= 100 ? showCount(perS) : SMALL.format(perS);
}

export function showMs(ms: number | undefined): string {
  return ms === undefined ? NONE : `${SMALL.format(ms)} ms`;
}

export function showShare(share: number | undefined): string {
  return share === undefined ? NONE : `${SMALL.format(Math.round(share * 1000) / 10)} %`;
}

export function showTime(time: string | undefined): string {
  return time === undefined ? NONE : TIME.format(new Date(time));
}

const STEPS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
];

/** `2 h 5 min`; at most two units. */
export function showDuration(ms: number): string {
  let rest = Math.max(0, ms);
  const parts: string[] = [];
  for (const [size, unit] of STEPS) {
    const count = Math.floor(rest / size);
    rest -= count * size;
    if (count > 0) parts.push(`${count} ${unit}`);
    if (parts.length === 2) break;
  }
  return parts.length === 0 ? `${SMALL.format(ms)} ms` : parts.join(' ');
}

/** `3 min ago`. */
export function showAgo(time: string, nowMs: number = Date.now()): string {
  const ms = nowMs - Date.parse(time);
  return ms < 1_000 ? 'now' : `${showDuration(ms)} ago`;
}

/** The unit in which people read hits. */
export interface AmountForm {
  readonly unit: string;
  readonly divide: number;
}

/** `4.25 USD`; without a form as a count. */
export function showHits(hits: number, form: AmountForm | undefined): string {
  if (form === undefined) return showCount(hits);
  const digits = new Intl.NumberFormat('en', { maximumFractionDigits: Math.round(Math.log10(form.divide)) });
  return `${digits.format(hits / form.divide)} ${form.unit}`;
}

interface ShownLimit {
  readonly requests_per_unit: number;
  readonly unit: string;
  readonly unit_multiplier?: number;
  readonly show?: AmountForm;
}

/** `300 per minute`, `10 per 5 minutes`, `5 USD in total`. */
export function showLimit({ requests_per_unit: requests, unit, unit_multiplier: multiplier = 1, show: form }: ShownLimit): string {
  const word = unit.toLowerCase();
  const size = form === undefined ? COUNT.format(requests) : showHits(requests, form);
  if (word === '') return `${size} at once`;
  if (word === 'total') return `${size} in total`;
  return `${size} per ${multiplier === 1 ? word : `${COUNT.format(multiplier)} ${word}s`}`;
}
