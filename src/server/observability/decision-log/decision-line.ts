/**
 * Writes a decision as a line of JSON in UTF-8, of parts that are made once for each rule, key and recurring request. The line has a character for each
 * byte, as the texts of requests do, so that they need no conversion.
 */

import { decidingDescriptor } from '../../../domain/decide/deciding-descriptor';
import { shownRemaining } from '../../../domain/decide/decision';
import { copyOf, toByteString, toText } from '../../../domain/descriptor/byte-string';
import type { ByteString, Descriptor, Entry, LimitOverride, RateLimitRequest } from '../../../domain/descriptor/descriptor';
import type { DecidedRequest } from '../../../domain/respond/decided/decided-request';
import { serverTimeUs } from '../../../domain/respond/decided/server-time';
import type { Match } from '../../../domain/rule/match';
import { MS_PER_S, US_PER_S } from '../../../lib/time-units';
import type { HashedValues } from './hashed-values';

/** A field that can be left out. */
export type DecisionField = 'domain' | 'descriptors' | 'hits' | 'code' | 'rule' | 'remaining' | 'decided_by';

export interface DecisionLineOptions {
  readonly fields: readonly DecisionField[];
  /** The part of decisions that have a line: shown in each if it is not 1. */
  readonly sample: number;
  /** Absent: no value is hashed. */
  readonly hashed?: HashedValues | undefined;
}

/** Printable ASCII that JSON has as it is. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** Keys whose part of a line is kept: those of a configuration, not all that callers think of. */
const KEYS_MAX = 1_000;

/** Longer keys are written each time: callers choose them, up to 64 KiB each. */
const KEPT_CHARS_MAX = 256;

/** The numbers below 1,000 as they stand in a fraction. */
const THREE_DIGITS = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(3, '0'));

/** The first part of an entry. */
interface EntryHead {
  readonly text: string;
  readonly isHashed: boolean;
}

export class DecisionLine {
  private readonly has: Readonly<Record<DecisionField, boolean>>;
  /** Ends every line. */
  private readonly end: string;
  private readonly heads = new Map<ByteString, EntryHead>();
  private readonly ruleTexts = new WeakMap<readonly string[], string>();
  private readonly requestTexts = new WeakMap<RateLimitRequest, string>();
  private second = NaN;
  private secondText = '';
  /** Number of values that were hashed. */
  private hashedValues = 0;

  constructor(private readonly options: DecisionLineOptions) {
    const has = (field: DecisionField) => options.fields.includes(field);
    this.has = {
      domain: has('domain'),
      descriptors: has('descriptors'),
      hits: has('hits'),
      code: has('code'),
      rule: has('rule'),
      remaining: has('remaining'),
      decided_by: has('decided_by'),
    };
    this.end = options.sample === 1 ? '}' : `,"sample":${options.sample}}`;
  }

  of(decided: DecidedRequest): ByteString {
    const { has } = this;
    const { decision } = decided;
    let line = `${this.timeText(serverTimeUs(decided))}${this.requestText(decided.request)}`;
    if (has.code) line += decision.overallCode === 'OK' ? ',"code":"OK"' : ',"code":"OVER_LIMIT"';
    if (has.rule || has.remaining) line += this.bindingText(decided);
    if (has.decided_by) line += decidedByText(decided);
    return line + this.end;
  }

  private timeText(timeUs: number): string {
    const us = Math.floor(timeUs);
    const second = Math.floor(us / US_PER_S);
    if (second !== this.second) {
      this.second = second;
      this.secondText = `{"time":"${new Date(second * MS_PER_S).toISOString().slice(0, -'000Z'.length)}`;
    }
    const part = us - second * US_PER_S;
    const thousands = Math.floor(part / 1_000);
    return `${this.secondText}${THREE_DIGITS[thousands] ?? ''}${THREE_DIGITS[part - thousands * 1_000] ?? ''}Z"`;
  }

  private requestText(request: RateLimitRequest): string {
    if (request.recurs !== true) return this.makeRequestText(request);
    const known = this.requestTexts.get(request);
    if (known !== undefined) return known;
    // In one piece, which is faster to write each time.
    const made = copyOf(this.makeRequestText(request));
    this.requestTexts.set(request, made);
    return made;
  }

  private makeRequestText(request: RateLimitRequest): string {
    const { has } = this;
    const hashedBefore = this.hashedValues;
    let text = '';
    if (has.domain) text += `,"domain":${quoted(request.domain)}`;
    if (has.descriptors) text += this.descriptorsText(request);
    if (has.hits) text += `,"hits":${request.hits}`;
    return this.hashedValues > hashedBefore ? `${text},"hashed":true` : text;
  }

  private descriptorsText({ descriptors, hits }: RateLimitRequest): string {
    let text = '';
    for (const descriptor of descriptors) {
      text += `${text === '' ? ',"descriptors":[' : ','}{"entries":[${this.entriesText(descriptor.entries)}]`;
      if (descriptor.hits !== undefined) text += `,"hits":${descriptor.hits}`;
      if (descriptor.override !== undefined) text += overrideText(descriptor.override);
      text += (descriptor.hits ?? hits) === 0 ? ',"check":true}' : '}';
    }
    return text === '' ? ',"descriptors":[]' : `${text}]`;
  }

  private entriesText(entries: readonly Entry[]): string {
    let text = '';
    for (const { key, value } of entries) {
      const head = this.headOf(key);
      if (head.isHashed) this.hashedValues += 1;
      text += `${text === '' ? '' : ','}${head.text}${head.isHashed ? this.hashOf(value) : quoted(value)}}`;
    }
    return text;
  }

  private headOf(key: ByteString): EntryHead {
    const known = this.heads.get(key);
    if (known !== undefined) return known;
    const made = { text: `{"key":${quoted(key)},"value":`, isHashed: this.options.hashed?.hashes(key) === true };
    if (this.heads.size < KEYS_MAX && key.length <= KEPT_CHARS_MAX) this.heads.set(copyOf(key), made);
    return made;
  }

  private hashOf(value: ByteString): string {
    return `"${this.options.hashed?.of(value) ?? ''}"`;
  }

  private bindingText({ request, matched: { matches }, decision: { statuses } }: DecidedRequest): string {
    const { has } = this;
    const binding = decidingDescriptor(statuses);
    const status = statuses[binding];
    const match = matches[binding];
    const descriptor = request.descriptors[binding];
    if (status === undefined || match === undefined || descriptor === undefined) return '';
    let text = has.rule ? this.ruleText(match, { domain: request.domain, descriptor }) : '';
    if (has.remaining && status.currentLimit !== undefined) text += `,"remaining":${shownRemaining(status)}`;
    return text;
  }

  private ruleText({ path, rule }: Match, of: { readonly domain: ByteString; readonly descriptor: Descriptor }): string {
    if (path.length === 0) return '';
    const known = this.ruleTexts.get(path);
    if (known !== undefined) return known;
    const { hashed } = this.options;
    const levels = hashed === undefined ? path : path.map((level, i) => hashed.level(level, of.descriptor.entries[i]));
    const text = `,"rule":${toByteString(JSON.stringify([toText(of.domain), ...levels].join('.')))}`;
    // A level with a star has entries with several keys, and not all of them may be hashed. Without a rule, the path is made for one request.
    const isFixed = hashed === undefined || !path.some((level) => level.includes('*'));
    if (rule !== undefined && isFixed) this.ruleTexts.set(path, text);
    return text;
  }
}

function decidedByText({ matched, verdict, decision }: DecidedRequest): string {
  if (matched.blocked === true) return matched.refusal === undefined ? ',"decided_by":"block"' : ',"decided_by":"refusal"';
  if (verdict.fallback === true) return ',"decided_by":"fallback"';
  if (verdict.cached === true) return ',"decided_by":"cache"';
  // The store denied it, although leases had a part of its hits.
  if (verdict.leased === true && decision.overallCode === 'OK') return ',"decided_by":"lease"';
  return verdict.verdicts.length === 0 ? ',"decided_by":"none"' : ',"decided_by":"store"';
}

function overrideText({ requestsPerUnit, unit, unitMultiplier }: LimitOverride): string {
  const multiplier = unitMultiplier === 1 ? '' : `,"unit_multiplier":${unitMultiplier}`;
  return `,"limit":{"requests_per_unit":${requestsPerUnit},"unit":"${unit}"${multiplier}}`;
}

function quoted(text: ByteString): string {
  return PLAIN.test(text) ? `"${text}"` : toByteString(JSON.stringify(toText(text)));
}
