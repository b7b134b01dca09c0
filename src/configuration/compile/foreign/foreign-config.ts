/** Recognizes configurations of other programs, and suggests the equivalent for Weir. */

import { REFERENCE_ALGORITHM } from '../../../domain/algorithm/algorithms';
import { isLimitProblem, LIMIT_MAX, makeLimit } from '../../../domain/rule/limit';
import { UNIT_NAMES, UNIT_US, type UnitName } from '../../../domain/descriptor/unit';
import type { ConfigNode, MapNode, ScalarNode } from '../../yaml/config-node';
import type { FileProblem } from '../../problems/problem-list';
import { show } from '../../../lib/quote';

/** A Kubernetes manifest, limits of limitador, or a list of descriptors instead of a file for Weir; undefined: none of these. */
export function explainForeignRoot(root: ConfigNode): FileProblem | undefined {
  if (root.kind === 'map') return explainManifest(root);
  if (root.kind !== 'list') return undefined;
  const [first] = root.items;
  if (first?.kind !== 'map') return undefined;
  const message = first.fields.has('max_value')
    ? explainLimitador(first)
    : first.fields.has('key')
      ? 'is a list of descriptors; put domain: NAME at the root of the file, and the list below descriptors:'
      : undefined;
  return message === undefined ? undefined : { offset: root.offset, path: '', message };
}

function explainManifest(root: MapNode): FileProblem | undefined {
  const kind = textOf(root, 'kind');
  const field = root.fields.get('kind');
  if (kind === undefined || field === undefined || !root.fields.has('apiVersion')) return undefined;
  const advice =
    kind === 'ConfigMap'
      ? 'mount it and name the directory of its files, or write the text of its data into a file'
      : 'name the file with the rate limits';
  return { offset: field.keyOffset, path: 'kind', message: `is a Kubernetes ${kind.slice(0, NAME_CHARS_MAX)}; ${advice}` };
}

const NAME_CHARS_MAX = 60;

function explainLimitador(first: MapNode): string {
  const rate = rateOf(first);
  const limit =
    rate === undefined
      ? 'rate_limit'
      : `rate_limit: { requests_per_unit: ${rate.requests}, unit: ${rate.unit}${rate.multiplier === 1 ? '' : `, unit_multiplier: ${rate.multiplier}`} }`;
  return `is a list of limits for limitador; write domain: ${show(textOf(first, 'namespace') ?? 'NAME')}, and below descriptors: each limit with its key and ${limit} (docs/migrating.md)`;
}

/** Names in other limiters for the burst, and for the rate: per second, or per a period in another field. */
const BURST_KEYS = ['capacity', 'max_tokens', 'bucket_size'];
const PER_SECOND_KEYS = ['refill_rate', 'fill_rate', 'tokens_per_second', 'requests_per_second'];
const PER_PERIOD_KEYS = [
  ['tokens_per_fill', 'fill_interval'],
  ['max_value', 'seconds'],
  ['limit', 'period'],
  ['limit', 'window'],
  ['limit', 'interval'],
  ['limit', 'per'],
  ['requests', 'period'],
  ['requests', 'window'],
  ['requests', 'per'],
  ['rate', 'per'],
  ['max', 'period'],
  ['max', 'window'],
] as const;
const FOREIGN_KEYS: readonly string[] = [...new Set([...BURST_KEYS, ...PER_SECOND_KEYS, ...PER_PERIOD_KEYS.flat()])];

/** A `rate_limit` with keys of another limiter, or in the form `5/minute`; undefined: neither. */
export function explainForeignLimit(node: ConfigNode, path: string): FileProblem | undefined {
  if (node.kind === 'scalar') return explainShortForm(node, path);
  if (node.kind !== 'map') return undefined;
  const found = [...node.fields].filter(([key]) => FOREIGN_KEYS.includes(key));
  const [first] = found;
  if (first === undefined) return undefined;
  const [rate, burstText] = [rateOf(node), firstText(node, BURST_KEYS)];
  const burst = numberOf(burstText);
  const givesRate = found.some(([key]) => !BURST_KEYS.includes(key));
  const isRateKnown = givesRate ? rate !== undefined : node.fields.has('unit') && node.fields.has('requests_per_unit');
  const isKnown = isRateKnown && (burstText === undefined || burst !== undefined);
  const fields = [...(rate === undefined ? [] : rateFields(rate)), ...(burst === undefined ? [] : [`burst: ${burst}`])];
  const advice = isKnown ? `write ${fields.join(', ')}` : 'use unit and requests_per_unit for the rate, burst for what passes at once';
  return {
    offset: first[1].keyOffset,
    path,
    message: `unknown ${found.length === 1 ? 'key' : 'keys'} ${found.map(([key]) => key).join(', ')}; ${advice}`,
  };
}

const SHORT_FORM = /^(\d{1,16}) ?(?:\/|r\/|per) ?(\d{0,9})([a-z]+)$/i;

function explainShortForm({ text, offset }: ScalarNode, path: string): FileProblem | undefined {
  const [, requests, multiplier, word = ''] = SHORT_FORM.exec(text) ?? [];
  const unit = unitNamed(word);
  if (requests === undefined || unit === undefined) return undefined;
  const rate = { requests: Number(requests), unit, multiplier: Number(multiplier === '' ? 1 : multiplier) };
  return { offset, path, message: `is text; write it as { ${rateFields(rate).join(', ')} }` };
}

/** `s`, `min` and `hours`, too; `m` is a minute. */
function unitNamed(word: string): UnitName | undefined {
  const lower = word.toLowerCase();
  return lower === 'm' ? 'minute' : UNIT_NAMES.find((name) => name.startsWith(lower.replace(/(?<=.)s$/, '') || lower));
}

const PERIOD = /^(\d{0,9}) ?([a-z]+)$/i;

/** The fields to write instead of a `unit` with a number. Undefined: the text is another thing. */
export function explainPeriod(text: string): string | undefined {
  const [, digits = '', word = ''] = PERIOD.exec(text) ?? [];
  const unit = unitNamed(word);
  const multiplier = digits === '' ? 1 : Number(digits);
  if (word === '' || multiplier === 0 || unit === undefined) return undefined;
  return `write unit: ${unit}${multiplier === 1 ? '' : `, unit_multiplier: ${multiplier}`}`;
}

/** A number of seconds, or a number and a unit: `60`, `10s`, `minute`. */
function periodOf(text: string | undefined): Pick<Rate, 'unit' | 'multiplier'> | undefined {
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds > 0 ? inLargestUnit(seconds) : undefined;
  const [, digits = '', word = ''] = PERIOD.exec(text ?? '') ?? [];
  const unit = word === '' ? undefined : unitNamed(word);
  const multiplier = digits === '' ? 1 : Number(digits);
  if (unit === undefined || multiplier === 0) return undefined;
  return unit === 'second' ? inLargestUnit(multiplier) : { unit, multiplier };
}

/** `requests` per `multiplier` units. */
interface Rate {
  readonly requests: number;
  readonly unit: UnitName;
  readonly multiplier: number;
}

/** Formatted as fields of a `rate_limit`. */
function rateFields({ requests, unit, multiplier }: Rate): string[] {
  return [`unit: ${unit}`, ...(multiplier === 1 ? [] : [`unit_multiplier: ${multiplier}`]), `requests_per_unit: ${requests}`];
}

function rateOf(node: MapNode): Rate | undefined {
  const perSecond = firstText(node, PER_SECOND_KEYS);
  if (perSecond !== undefined) return toRate(perSecond, { unit: 'second', multiplier: 1 });
  for (const [hits, period] of PER_PERIOD_KEYS) {
    const [requests, per] = [textOf(node, hits), periodOf(textOf(node, period))];
    if (requests !== undefined && per !== undefined) return toRate(requests, per);
  }
  return undefined;
}

/** Months and years are left out: 2,592,000 seconds are never meant as a month. */
function inLargestUnit(seconds: number): Pick<Rate, 'unit' | 'multiplier'> {
  const unit =
    UNIT_NAMES.filter((name) => name !== 'month' && name !== 'year' && name !== 'week')
      .reverse()
      .find((name) => (seconds * 1_000_000) % UNIT_US[name] === 0) ?? 'second';
  return { unit, multiplier: (seconds * 1_000_000) / UNIT_US[unit] };
}

const DECIMAL = /^(\d{1,16})(?:\.(\d{1,9}))?$/;

/** Converts a decimal number of hits per period to whole numbers; undefined if no limit can express it. */
function toRate(decimal: string, { unit, multiplier }: Pick<Rate, 'unit' | 'multiplier'>): Rate | undefined {
  const [, whole, fraction = ''] = DECIMAL.exec(decimal) ?? [];
  if (whole === undefined) return undefined;
  const hits = Number(whole + fraction);
  const parts = 10 ** fraction.length;
  if (!Number.isSafeInteger(hits)) return undefined;
  // Reduced only here: 10 per two minutes lets ten pass at once, 5 per minute only five.
  const divisor = greatestCommonDivisor(hits, parts);
  const rate = { requests: hits / divisor, unit, multiplier: (parts / divisor) * multiplier };
  const made = makeLimit({ requestsPerUnit: rate.requests, unit, unitMultiplier: rate.multiplier, algorithm: REFERENCE_ALGORITHM });
  return isLimitProblem(made) ? undefined : rate;
}

function greatestCommonDivisor(one: number, other: number): number {
  return other === 0 ? one : greatestCommonDivisor(other, one % other);
}

/** The fields to write instead of a `requests_per_unit` with a fraction. Undefined: the text is another thing, or no limit can express it. */
export function explainFraction(
  text: string,
  per: { readonly unit: UnitName | undefined; readonly multiplier: number },
): string | undefined {
  if (!/^\d*\.\d+$/.test(text)) return undefined;
  const { unit, multiplier } = per;
  if (/\.0+$/.test(text)) return `${show(text)} is not a whole number; write ${Number(text)}`;
  const rate = unit === undefined ? undefined : toRate(text.replace(/^\./, '0.'), { unit, multiplier });
  return rate === undefined ? undefined : `${show(text)} is not a whole number; the same rate is ${rateFields(rate).join(', ')}`;
}

function firstText(node: MapNode, keys: readonly string[]): string | undefined {
  return keys.map((key) => textOf(node, key)).find((text) => text !== undefined);
}

function textOf(node: MapNode, key: string): string | undefined {
  const value = node.fields.get(key)?.value;
  return value?.kind === 'scalar' ? value.text : undefined;
}

function numberOf(text: string | undefined): number | undefined {
  const value = text !== undefined && /^\d{1,16}$/.test(text) ? Number(text) : NaN;
  return value <= LIMIT_MAX ? value : undefined;
}
