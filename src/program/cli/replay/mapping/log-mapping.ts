/** How lines of a log become requests: which fields name the time, the domain and the entries. */

import type { ByteString, Descriptor, Entry, RateLimitRequest } from '../../../../domain/descriptor/descriptor';
import { HITS_MAX } from '../../../../domain/descriptor/descriptor';
import type { FieldValues } from '../formats/field-reader';
import { readTimeUs } from '../formats/log-time';
import { asWrong, type LineResult } from '../logs/log-event';

export const LOG_FORMATS = ['csv', 'json', 'envoy', 'combined', 'decisions'] as const;

export type LogFormat = (typeof LOG_FORMATS)[number];

/** An entry of a descriptor. */
export interface EntrySource {
  readonly key: ByteString;
  /** The same value for each line. Absent: that of the field. */
  readonly value?: ByteString;
  readonly field?: string;
  /** The value is its first group, or else all that it matches; a value without a match counts as absent. */
  readonly match?: RegExp;
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
}

const ABSENT = -1;

interface EntryPlan {
  readonly key: ByteString;
  /** Undefined: from a field. */
  readonly fixed: Entry | undefined;
  readonly at: number;
  readonly match: RegExp | undefined;
}

/** Makes requests of the values of a line. */
export class RequestMaker {
  /** The fields to read, in the order of the values. */
  readonly fields: readonly string[];
  private readonly domainAt: number;
  private readonly durationAt: number;
  private readonly hitsAt: number;
  private readonly plans: readonly (readonly EntryPlan[])[];

  /** `timeField`: the default of the format. */
  constructor(
    private readonly mapping: LogMapping,
    timeField: string,
  ) {
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
      entries.map(({ key, value, field, match }) => ({
        key,
        fixed: value === undefined ? undefined : { key, value },
        at: indexOf(field),
        match,
      })),
    );
    this.fields = fields;
  }

  make(values: FieldValues): LineResult {
    const time = values[0];
    if (time === undefined) return asWrong('has no time');
    let timeUs = readTimeUs(time);
    if (Number.isNaN(timeUs)) return asWrong(`has a time that is not RFC 3339 with a zone, nor a number since 1970: ${shown(time)}`);
    const { durationAt, domainAt } = this;
    if (durationAt !== ABSENT) timeUs -= durationUsOf(values[durationAt], this.mapping.duration?.unitUs ?? 1);
    if (!(timeUs >= 0)) return asWrong('has a duration that is not a number');
    const domain = domainAt === ABSENT ? this.mapping.domain.value : values[domainAt];
    if (domain === undefined) return asWrong('has no domain');
    const descriptors = this.descriptorsOf(values);
    if (this.hitsAt === ABSENT) return { timeUs, request: { domain, descriptors, hits: 1 } };
    return withHits({ timeUs, domain, descriptors }, values[this.hitsAt]);
  }

  /** A descriptor with an entry that the line lacks is left out, as Envoy does. */
  private descriptorsOf(values: FieldValues): Descriptor[] {
    const descriptors: Descriptor[] = [];
    for (const plan of this.plans) {
      const entries = entriesOf(plan, values);
      if (entries !== undefined) descriptors.push({ entries });
    }
    return descriptors;
  }
}

function entriesOf(plan: readonly EntryPlan[], values: FieldValues): Entry[] | undefined {
  const entries: Entry[] = [];
  for (const { key, fixed, at, match } of plan) {
    if (fixed !== undefined) {
      entries.push(fixed);
      continue;
    }
    let value = values[at];
    if (value !== undefined && match !== undefined) {
      const found = match.exec(value);
      value = found === null ? undefined : (found[1] ?? found[0]);
    }
    if (value === undefined) return undefined;
    entries.push({ key, value });
  }
  return entries;
}

/** A line without hits has one, and with 0 it is a check. */
function withHits(
  { timeUs, domain, descriptors }: { readonly timeUs: number; readonly domain: ByteString; readonly descriptors: Descriptor[] },
  text: string | undefined,
): LineResult {
  if (text === undefined) return { timeUs, request: { domain, descriptors, hits: 1 } };
  if (!/^\d{1,15}$/.test(text)) return asWrong(`has hits that are not a whole number: ${shown(text)}`);
  const hits = Math.min(Number(text), HITS_MAX);
  return { timeUs, request: requestWith({ domain, descriptors, hits }) };
}

/** Hits of 0 are those of each descriptor: 0 hits of a request are one. */
export function requestWith({ domain, descriptors, hits }: Pick<RateLimitRequest, 'domain' | 'descriptors' | 'hits'>): RateLimitRequest {
  if (hits !== 0) return { domain, descriptors, hits, saysHits: true };
  return { domain, descriptors: descriptors.map((each) => ({ hits: 0, ...each })), hits: 1, saysHits: true };
}

function durationUsOf(text: string | undefined, unitUs: number): number {
  if (text === undefined) return 0;
  return /^\d{1,12}(?:\.\d{1,9})?$/.test(text) ? Math.round(Number(text) * unitUs) : NaN;
}

const SHOWN_MAX = 40;

/** A value of a line in a message. */
export function shown(value: ByteString): string {
  return JSON.stringify(Buffer.from(value.slice(0, SHOWN_MAX), 'latin1').toString('utf8'));
}
