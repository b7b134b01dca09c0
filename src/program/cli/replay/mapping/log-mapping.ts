/** How lines of a log become requests: which fields name the time, the domain and the entries. */

import { copyOf } from '../../../../domain/descriptor/byte-string';
import type { ByteString, Descriptor, Entry } from '../../../../domain/descriptor/descriptor';
import { HITS_MAX } from '../../../../domain/descriptor/descriptor';
import type { DescriptorForm } from '../../../offline/keyed/keyed-engine';
import { partsOf } from '../event/joined-text';
import { requestWith } from '../event/request-of';
import { shown } from '../event/shown-value';
import type { LogFormat } from '../formats/log-formats';
import type { FieldValues } from '../formats/field-reader';
import { readTimeUs } from '../formats/log-time';
import { asWrong, NO_TEXTS, type LineResult } from '../event/log-event';

/** An entry of a descriptor. */
export interface EntrySource {
  readonly key: ByteString;
  /** The same value for each line. Absent: that of the field. */
  readonly value?: ByteString;
  readonly field?: string;
  /** The value is its first group, or else all that it matches; a value without a match counts as absent. */
  readonly match?: RegExp;
  /** The descriptor has the entry only if the conditions hold, and is not sent otherwise. */
  readonly when?: EntryConditions;
  /** A line that lacks the field sends the descriptor without the entry. */
  readonly isOptional?: true;
}

export interface EntryCondition {
  readonly field: string;
  readonly pattern: RegExp;
  readonly isInverted: boolean;
}

export interface EntryConditions {
  readonly conditions: readonly EntryCondition[];
  /** Whether all of them must hold, or not all. */
  readonly isExpected: boolean;
}

/** The routes of a proxy: a descriptor of a route is only sent for requests that take it. */
export interface RouteTable {
  /** The first that matches is taken. */
  readonly routes: readonly { readonly domains: readonly string[]; readonly path: RegExp }[];
  /** By descriptor: the number of its route. */
  readonly places: readonly (number | undefined)[];
  readonly pathField: string | undefined;
  readonly authorityField: string | undefined;
}

export interface DurationSource {
  readonly field: string;
  /** Microseconds of 1. */
  readonly unitUs: number;
}

export interface LogMapping {
  /** Absent: found from the first lines. */
  readonly format?: LogFormat | undefined;
  /** The field with the time. Absent: `time`; in JSON of Envoy `start_time`. */
  readonly time?: string | undefined;
  /** The time is the end of the request, and this is what it took. Absent: the time is the start. */
  readonly duration?: DurationSource | undefined;
  readonly domain: Pick<EntrySource, 'value' | 'field'>;
  readonly descriptors: readonly (readonly EntrySource[])[];
  /** The field with the hits. Absent: each request has one. */
  readonly hits?: string | undefined;
  /** Absent: every line sends every descriptor. */
  readonly routes?: RouteTable;
}

const ABSENT = -1;

interface EntryPlan {
  readonly key: ByteString;
  /** Undefined: from a field. */
  readonly fixed: Entry | undefined;
  readonly at: number;
  readonly match: Match | undefined;
  readonly isOptional: boolean;
  readonly isExpected: boolean;
  readonly conditions: readonly { readonly at: number; readonly pattern: RegExp; readonly isInverted: boolean }[] | undefined;
}

export interface RequestMakerOptions {
  readonly mapping: LogMapping;
  /** The field with the time, if the mapping names none. */
  readonly timeField: string;
  /** Makes the keys of requests, and not the requests. */
  readonly isKeyed: boolean;
}

/** Makes requests of the values of a line. */
export class RequestMaker {
  /** The fields to read, in the order of the values. */
  readonly fields: readonly string[];
  private readonly mapping: LogMapping;
  private readonly isKeyed: boolean;
  private readonly domainAt: number;
  private readonly durationAt: number;
  private readonly hitsAt: number;
  private readonly pathAt: number;
  private readonly authorityAt: number;
  private readonly plans: readonly (readonly EntryPlan[])[];

  constructor({ mapping, timeField, isKeyed }: RequestMakerOptions) {
    this.mapping = mapping;
    this.isKeyed = isKeyed;
    const fields: string[] = [mapping.time ?? timeField];
    const indexOf = (field: string | undefined): number => {
      if (field === undefined) return ABSENT;
      const known = fields.indexOf(field);
      return known < 0 ? fields.push(field) - 1 : known;
    };
    this.durationAt = indexOf(mapping.duration?.field);
    this.domainAt = indexOf(mapping.domain.field);
    this.hitsAt = indexOf(mapping.hits);
    this.plans = mapping.descriptors.map((entries) =>
      entries.map(({ key, value, field, match, when, isOptional }) => ({
        isOptional: isOptional === true,
        isExpected: when?.isExpected !== false,
        conditions: when?.conditions.map((condition) => ({ ...condition, at: indexOf(condition.field) })),
        key,
        fixed: value === undefined ? undefined : { key, value },
        at: indexOf(field),
        match: match && new Match(match),
      })),
    );
    this.pathAt = indexOf(mapping.routes?.pathField);
    this.authorityAt = indexOf(mapping.routes?.authorityField);
    this.fields = fields;
  }

  make(values: FieldValues): LineResult {
    const time = values[0];
    if (time === undefined) return asWrong('has no time');
    let timeUs = readTimeUs(time);
    if (Number.isNaN(timeUs)) return asWrong(`has a time that is not RFC 3339 with a zone, nor a number since 1970: ${shown(time)}`);
    const { durationAt, hitsAt } = this;
    if (durationAt !== ABSENT) timeUs -= durationUsOf(values[durationAt], this.mapping.duration?.unitUs ?? 1);
    if (!(timeUs >= 0)) return asWrong('has a duration that is not a number');
    const hits = hitsAt === ABSENT ? 1 : hitsOf(values[hitsAt]);
    if (Number.isNaN(hits)) return asWrong(`has hits that are not a whole number: ${shown(values[hitsAt] ?? '')}`);
    if (this.isKeyed) return { timeUs, request: undefined, texts: this.textsOf(values), hits, bytes: 0, number: 0 };
    const domain = this.domainAt === ABSENT ? this.mapping.domain.value : values[this.domainAt];
    if (domain === undefined) return asWrong('has no domain');
    const descriptors = this.descriptorsOf(values);
    const request = hitsAt === ABSENT ? { domain, descriptors, hits } : requestWith({ domain, descriptors, hits });
    return { timeUs, request, texts: NO_TEXTS, hits, bytes: 0, number: 0 };
  }

  /** A descriptor with an entry that the line lacks is left out, as Envoy does. */
  private descriptorsOf(values: FieldValues): Descriptor[] {
    const descriptors: Descriptor[] = [];
    const route = this.routeOf(values);
    for (const [i, plan] of this.plans.entries()) {
      const entries = this.isOnRoute(i, route) ? entriesOf(plan, values) : undefined;
      if (entries !== undefined) descriptors.push({ entries });
    }
    return descriptors;
  }

  private textsOf(values: FieldValues): (string | undefined)[] {
    const { plans } = this;
    const texts = new Array<string | undefined>(plans.length);
    const route = this.routeOf(values);
    for (let i = 0; i < plans.length; i += 1) texts[i] = this.isOnRoute(i, route) ? textOf(plans[i] ?? [], values) : undefined;
    return texts;
  }

  private isOnRoute(descriptor: number, route: number): boolean {
    const { routes } = this.mapping;
    return routes === undefined || routes.places[descriptor] === route;
  }

  /** The number of the first route that the request matches. */
  private routeOf(values: FieldValues): number {
    const { routes } = this.mapping;
    if (routes === undefined) return ABSENT;
    const path = values[this.pathAt];
    const host = values[this.authorityAt]?.replace(/:\d+$/, '').toLowerCase();
    return routes.routes.findIndex(
      (route) =>
        (path === undefined || route.path.test(path)) && (host === undefined || route.domains.some((domain) => isOfDomain(host, domain))),
    );
  }
}

function entriesOf(plan: readonly EntryPlan[], values: FieldValues): Entry[] | undefined {
  const entries: Entry[] = [];
  for (const entry of plan) {
    const { key, fixed, at, match } = entry;
    if (!holds(entry, values)) return undefined;
    if (fixed !== undefined) {
      entries.push(fixed);
      continue;
    }
    const value = valueOf(values[at], match);
    if (value === undefined && entry.isOptional) continue;
    if (value === undefined) return undefined;
    entries.push({ key, value });
  }
  return entries;
}

function isOfDomain(host: string, domain: string): boolean {
  if (domain === '*') return true;
  if (domain.startsWith('*')) return host.endsWith(domain.slice(1).toLowerCase());
  return domain.endsWith('*') ? host.startsWith(domain.slice(0, -1).toLowerCase()) : host === domain.replace(/:\d+$/, '').toLowerCase();
}

function holds({ conditions, isExpected }: EntryPlan, values: FieldValues): boolean {
  if (conditions === undefined) return true;
  const all = conditions.every(({ at, pattern, isInverted }) => (values[at] !== undefined && pattern.test(values[at])) !== isInverted);
  return all === isExpected;
}

function valueOf(value: string | undefined, match: Match | undefined): string | undefined {
  return value === undefined || match === undefined ? value : match.of(value);
}

/** Values to remember. */
const KNOWN_MAX = 1_000;

/** Takes values apart, and remembers the last ones: a log repeats its paths. */
class Match {
  private readonly known = new Map<string, string | undefined>();

  constructor(private readonly pattern: RegExp) {}

  of(value: string): string | undefined {
    const known = this.known.get(value);
    if (known !== undefined || this.known.has(value)) return known;
    const found = this.pattern.exec(value);
    const part = found === null ? undefined : (found[1] ?? found[0]);
    if (this.known.size >= KNOWN_MAX) this.known.clear();
    this.known.set(copyOf(value), part);
    return part;
  }
}

/** The values of a descriptor as one text: of a single value, itself; of several, each after its length. */
function textOf(plan: readonly EntryPlan[], values: FieldValues): string | undefined {
  let text = '';
  let count = 0;
  for (const entry of plan) {
    const { fixed, at, match } = entry;
    if (!holds(entry, values)) return undefined;
    if (fixed !== undefined) continue;
    const value = valueOf(values[at], match);
    if (value === undefined) return undefined;
    text = count === 0 ? value : count === 1 ? `${text.length}:${text}${value.length}:${value}` : `${text}${value.length}:${value}`;
    count += 1;
  }
  return text;
}

/** The forms of the descriptors of a mapping. */
export function formsOf({ descriptors }: LogMapping): DescriptorForm[] {
  return descriptors.map((entries) => ({
    keys: entries.map(({ key }) => key),
    entriesOf: (text) => {
      const variable = entries.filter(({ value }) => value === undefined).length;
      const values = variable === 1 ? [text] : partsOf(text);
      let next = 0;
      return entries.map(({ key, value }) => ({ key, value: value ?? values[(next += 1) - 1] ?? '' }));
    },
  }));
}

/** NaN: no whole number. A line without hits has one. */
function hitsOf(text: string | undefined): number {
  if (text === undefined) return 1;
  return /^\d{1,16}$/.test(text) ? Math.min(Number(text), HITS_MAX) : NaN;
}

function durationUsOf(text: string | undefined, unitUs: number): number {
  if (text === undefined) return 0;
  return /^\d{1,12}(?:\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * unitUs) : NaN;
}
