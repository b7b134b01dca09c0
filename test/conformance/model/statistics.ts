/** What requests add to the statistics of each rule, under the names of envoyproxy/ratelimit and of Weir, in statsd and for Prometheus. */

import type { AskedEntry } from './asked';
import type { FoundLevel } from './descriptor-match';

/** By name in statsd, or by name and labels of Prometheus. */
export type Counts = ReadonlyMap<string, bigint>;

/** Statistics of a rule, as both call them. */
export type RuleStatistic =
  'total_hits' | 'over_limit' | 'near_limit' | 'within_limit' | 'shadow_mode' | 'total_negative_hits' | 'over_limit_with_local_cache';

/** A statistic of a rule, or of a domain (without levels). */
interface Place {
  readonly domain: string;
  readonly levels: readonly string[];
  readonly statistic: string;
}

/** Statistics of no rule. */
type ServiceStatistic = 'global_shadow_mode' | 'call.should_rate_limit.service_error';

const SERVICE = 'ratelimit.service';
export const RULE_PREFIX = `${SERVICE}.rate_limit.`;

/** What the model's requests have added, before it has a name. */
export class Statistics {
  private readonly byPlace = new Map<string, bigint>();
  private lastByPlace = new Map<string, bigint>();
  private readonly ofService = new Map<ServiceStatistic, bigint>();

  /** What is added since, `last` tells. */
  begin(): void {
    this.lastByPlace = new Map();
  }

  /** By place. */
  last(): Counts {
    return this.lastByPlace;
  }

  /** A statistic of 0 is left out. */
  add(place: Place, count: bigint): void {
    if (count === 0n) return;
    const key = JSON.stringify([place.domain, place.levels, place.statistic]);
    addTo(this.byPlace, key, count);
    addTo(this.lastByPlace, key, count);
  }

  addToService(statistic: ServiceStatistic): void {
    this.ofService.set(statistic, (this.ofService.get(statistic) ?? 0n) + 1n);
  }

  inStatsdAsReference(): Counts {
    return this.inStatsd(statsdName);
  }

  /** Without levels that are empty, and with `_` for each character that is not printable ASCII. */
  inStatsdAsWeir(): Counts {
    return this.inStatsd((place) => statsdName({ ...place, levels: place.levels.filter((level) => level !== '') }).replace(/[^!-~]/g, '_'));
  }

  private inStatsd(nameOf: (place: Place) => string): Counts {
    const counts = new Map<string, bigint>();
    for (const [place, count] of this.places()) addTo(counts, nameOf(place), count);
    for (const [statistic, count] of this.ofService) addTo(counts, `${SERVICE}.${statistic}`, count);
    return counts;
  }

  /** As the reference maps its names: the first two levels have a label, and each dot begins a level. */
  forPrometheusAsReference(): Counts {
    const counts = new Map<string, bigint>();
    for (const [place, count] of this.places()) addTo(counts, mapAsReference(statsdName(place)), count);
    return counts;
  }

  /** Eight levels have a label each. */
  forPrometheusAsWeir(): Counts {
    const counts = new Map<string, bigint>();
    for (const [{ domain, levels, statistic }, count] of this.places()) {
      const labels = levels.map((level, index) => [`key${index + 1}`, sanitize(level)] as const);
      addTo(counts, labelled(`${RULE_METRIC}${statistic}`, [['domain', sanitize(domain)], ...labels]), count);
    }
    return counts;
  }

  private *places(): Generator<readonly [Place, bigint]> {
    for (const [key, count] of this.byPlace) {
      const [domain, levels, statistic] = JSON.parse(key) as [string, string[], string];
      yield [{ domain, levels, statistic }, count];
    }
  }
}

export const RULE_METRIC = 'ratelimit_service_rate_limit_';

function addTo(counts: Map<string, bigint>, name: string, count: bigint): void {
  counts.set(name, (counts.get(name) ?? 0n) + count);
}

function statsdName({ domain, levels, statistic }: Place): string {
  return `${RULE_PREFIX}${sanitize([domain, ...levels].join('.'))}.${statistic}`;
}

/** `:` and `|` would end a name, and the dots of an address would be levels. */
function sanitize(text: string): string {
  return text.replace(/[:|]/g, '_').replace(/\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}/g, (address) => address.replaceAll('.', '_'));
}

const MAPPED = ['near_limit', 'over_limit', 'total_hits', 'within_limit', 'shadow_mode'];

function mapAsReference(name: string): string {
  const parts = name.split('.');
  const statistic = parts.at(-1) ?? '';
  const [domain, key1, key2] = parts.slice(3, -1);
  if (!MAPPED.includes(statistic) || domain === undefined || key1 === undefined) return labelled(name.replace(/[^a-zA-Z0-9_]/g, '_'), []);
  const labels = [
    ['domain', domain],
    ['key1', key1],
  ] as const;
  return labelled(`${RULE_METRIC}${statistic}`, key2 === undefined ? labels : [...labels, ['key2', key2]]);
}

/** As a line of Prometheus begins. */
export function labelled(name: string, labels: readonly (readonly [label: string, value: string])[]): string {
  return labels.length === 0 ? name : `${name}{${labels.map(([label, value]) => `${label}=${JSON.stringify(value)}`).join(',')}}`;
}

/** Hits from here on are near the limit: four fifths, in single precision. */
export function nearThreshold(requestsPerUnit: number): bigint {
  return BigInt(Math.floor(Math.fround(Math.fround(requestsPerUnit) * Math.fround(0.8))));
}

/** The levels of a rule in the reference's statistics. */
export function levelsAsReference(levels: readonly FoundLevel[]): string[] {
  const isDetailed = levels.at(-1)?.configured.detailed_metric === true;
  const isShared = levels.some(({ shared }) => shared !== undefined);
  return levels.map(({ entry, configured, by, whole, shared }) => {
    if (shared !== undefined) return `${entry.key}_${shared.value}`;
    if (isDetailed) return isShared ? entryText(entry) : `${entry.key}_${entry.value}`;
    if (configured.value_to_metric === true || by === 'exact') return entryText(entry);
    return by === 'key' ? entry.key : `${entry.key}_${withoutKey(whole, entry)}`;
  });
}

/** The same in Weir's: what is configured, where nothing that was sent is to be shown. */
export function levelsAsWeir(levels: readonly FoundLevel[]): string[] {
  const isDetailed = levels.at(-1)?.configured.detailed_metric === true;
  const isShared = levels.some(({ shared }) => shared !== undefined);
  return levels.map(({ entry, configured, whole, shared }) => {
    if (shared !== undefined) return whole;
    if (isDetailed) return isShared ? entryText(entry) : `${entry.key}_${entry.value}`;
    // Where a value is configured, that is shown, also beside a key with a star.
    const isValueOpen = (configured.value ?? '') === '' || configured.value?.includes('*') === true;
    return configured.value_to_metric === true && isValueOpen ? entryText(entry) : whole;
  });
}

/** Of a limit that a request brings along. */
export function entryText({ key, value }: AskedEntry): string {
  return value === '' ? key : `${key}_${value}`;
}

function withoutKey(whole: string, { key }: AskedEntry): string {
  return whole.startsWith(`${key}_`) ? whole.slice(key.length + 1) : whole;
}
