/** Reads lines of Weir's own decision log. */

import type { ByteString, Descriptor, Entry, LimitOverride } from '../../../../domain/descriptor/descriptor';
import { HITS_MAX } from '../../../../domain/descriptor/descriptor';
import { TIME_UNITS } from '../../../../domain/descriptor/unit';
import { asWrong, NO_TEXTS, type LineResult } from '../event/log-event';
import { requestWith } from '../event/request-of';
import { isObject, parseLine, type Json, type JsonMap } from './json';
import { readTimeUs } from './log-time';

export function readDecision(text: ByteString, start: number, end: number): LineResult {
  const json = parseLine(text, start, end);
  if (!isObject(json)) return asWrong('is not an object of JSON');
  const { time, domain, descriptors, hits } = json;
  const timeUs = typeof time === 'string' ? readTimeUs(time) : NaN;
  if (Number.isNaN(timeUs)) return asWrong('has no time');
  if (typeof domain !== 'string') return asWrong('has no domain');
  const read = Array.isArray(descriptors) ? readDescriptors(descriptors as readonly Json[]) : undefined;
  if (read === undefined) return asWrong('has no descriptors, or other ones than a decision log has');
  const ofRequest = hits === undefined ? 1 : readHits(hits);
  if (ofRequest === undefined || ofRequest < 0) return asWrong('has hits that are not a whole number');
  return {
    timeUs,
    request: requestWith({ domain, descriptors: read, hits: ofRequest }),
    texts: NO_TEXTS,
    hits: ofRequest,
    bytes: 0,
    number: 0,
  };
}

function readDescriptors(list: readonly Json[]): Descriptor[] | undefined {
  const descriptors: Descriptor[] = [];
  for (const each of list) {
    const descriptor = isObject(each) ? readDescriptor(each) : undefined;
    if (descriptor === undefined) return undefined;
    descriptors.push(descriptor);
  }
  return descriptors;
}

function readDescriptor({ entries, hits, limit, check }: JsonMap): Descriptor | undefined {
  const read = Array.isArray(entries) ? readEntries(entries as readonly Json[]) : undefined;
  const override = limit === undefined ? undefined : readLimit(limit);
  const own = check === true ? 0 : hits === undefined ? undefined : readHits(hits);
  if (read === undefined || (limit !== undefined && override === undefined) || (hits !== undefined && own === undefined)) return undefined;
  return { entries: read, ...(override && { override }), ...(own !== undefined && { hits: own }) };
}

function readEntries(list: readonly Json[]): Entry[] | undefined {
  const entries: Entry[] = [];
  for (const each of list) {
    if (!isObject(each) || typeof each.key !== 'string' || typeof each.value !== 'string') return undefined;
    entries.push({ key: each.key, value: each.value });
  }
  return entries;
}

function readLimit(json: Json): LimitOverride | undefined {
  if (!isObject(json)) return undefined;
  const { requests_per_unit: requests, unit: word, unit_multiplier: multiplier = 1 } = json;
  const unit = typeof word === 'string' ? TIME_UNITS.find((each) => each === word.toLowerCase()) : undefined;
  if (unit === undefined || typeof requests !== 'number' || typeof multiplier !== 'number') return undefined;
  return { requestsPerUnit: requests, unit, unitMultiplier: multiplier };
}

function readHits(json: Json): number | undefined {
  return typeof json === 'number' && Number.isSafeInteger(json) ? Math.min(HITS_MAX, Math.max(-HITS_MAX, json)) : undefined;
}
