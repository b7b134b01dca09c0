/** The YAML configuration's shape: what one file says, before anything is made of it. */

import { ENTRIES_MAX } from '../descriptor/bounds';
import type { Algorithm, FailureMode, ResponseHeaders } from '../rule/limit';
import type { JsonObject } from '../rule/rule';
import type { ConfigNode } from './config-node';
import { readInFlight, type InFlightSpec } from './in-flight-schema';
import { ALGORITHM_CHOICE, FAILURE_MODE_CHOICE, readLimits, RESPONSE_HEADERS_CHOICE, type RateLimitSpec } from './limit-schema';
import { MapReader, type Located } from './map-reader';
import { readMetadata } from './metadata';
import type { FileProblems, PlacedInFile } from './problem-list';
import { joinPath } from './show';

/** Levels of descriptors. A request has no more entries than that, so deeper ones could never match. */
export const NESTING_MAX = ENTRIES_MAX;

export interface DomainSpec {
  readonly name: Located<string>;
  /** Absent: the default of the source. */
  readonly algorithm?: Located<Algorithm>;
  /** Absent: `FAILURE_MODE`. */
  readonly failureMode?: Located<FailureMode>;
  /** Absent: the setting `RESPONSE_HEADERS`. */
  readonly responseHeaders?: Located<ResponseHeaders>;
  /** Absent: the default of the source. */
  readonly overdraft?: Located<boolean>;
  /** Key of an entry. */
  readonly hashTag?: Located<string>;
  readonly descriptors: readonly DescriptorSpec[];
  /** Of its file. */
  readonly problems: FileProblems;
}

export interface DescriptorSpec extends PlacedInFile {
  readonly key: string;
  /** `""` if the key alone is configured. */
  readonly value: string;
  /** None: whatever matches is let through uncounted. */
  readonly limits: readonly RateLimitSpec[];
  readonly inFlight?: InFlightSpec;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly detailedMetric: boolean;
  /** Never where the value is configured, or shared: statistics show that. */
  readonly valueToMetric: boolean;
  /** Only with a star in the key or the value. */
  readonly shareThreshold: boolean;
  readonly metadata?: JsonObject;
  readonly descriptors: readonly DescriptorSpec[];
}

/**
 * What the file says; undefined if it has no usable domain. Problems are reported, and never stop the reading. It rests
 * after each descriptor, so that a long list keeps nobody waiting.
 */
export function* readDomain(root: ConfigNode, problems: FileProblems): Generator<undefined, DomainSpec | undefined> {
  const reader = MapReader.open(root, { level: 'root', path: '', problems });
  if (reader === undefined) return undefined;
  const name = reader.requiredText('domain');
  const algorithm = reader.choice('algorithm', ALGORITHM_CHOICE);
  const failureMode = reader.choice('failure_mode', FAILURE_MODE_CHOICE);
  const responseHeaders = reader.choice('response_headers', RESPONSE_HEADERS_CHOICE);
  const overdraft = reader.flag('overdraft');
  const hashTag = reader.optionalText('hash_tag');
  const descriptors = yield* readDescriptors(reader, { path: '', depth: 1, problems });
  if (name === undefined) return undefined;
  const optional = {
    ...(algorithm && { algorithm }),
    ...(failureMode && { failureMode }),
    ...(responseHeaders && { responseHeaders }),
    ...(overdraft && { overdraft }),
    ...(hashTag && { hashTag }),
  };
  return { name, descriptors, problems, ...optional };
}

/** Where the descriptors of a list stand: `depth` is 1 at the root. */
interface Nesting {
  readonly path: string;
  readonly depth: number;
  readonly problems: FileProblems;
}

function* readDescriptors(reader: MapReader, { path, depth, problems }: Nesting): Generator<undefined, DescriptorSpec[]> {
  const list = reader.list('descriptors');
  if (list === undefined || list.items.length === 0) return [];
  const listPath = joinPath(path, 'descriptors');
  if (depth > NESTING_MAX) {
    const message = `descriptors are nested more than ${NESTING_MAX} deep; no request has that many entries`;
    problems.report({ offset: list.offset, path: listPath, message });
    return [];
  }
  const descriptors: DescriptorSpec[] = [];
  for (const [index, item] of list.items.entries()) {
    const descriptor = yield* readDescriptor(item, { path: `${listPath}[${index}]`, depth, problems });
    if (descriptor !== undefined) descriptors.push(descriptor);
    yield;
  }
  return descriptors;
}

function* readDescriptor(node: ConfigNode, { path, depth, problems }: Nesting): Generator<undefined, DescriptorSpec | undefined> {
  const reader = MapReader.open(node, { level: 'descriptor', path, problems });
  if (reader === undefined) return undefined;
  const key = reader.requiredText('key');
  const value = reader.text('value');
  const limits = readLimits(reader, { path, problems });
  const inFlight = readInFlight(reader, { path, problems });
  if (reader.child('in_flight') !== undefined) reportUnlimited(reader, { limits, path, problems });
  const modes = { shadow_mode: reader.flag('shadow_mode'), quota_mode: reader.flag('quota_mode') };
  const detailedMetric = reader.flag('detailed_metric');
  const metadata = readMetadata(reader, { path, problems });
  if (limits.length === 0 && reader.child('in_flight') === undefined) warnOfNoLimit({ ...modes, detailed_metric: detailedMetric, metadata }, { path, problems });
  const shareThreshold = readShareThreshold(reader, { key, value, path, problems });
  const valueToMetric = readValueToMetric(reader, { value, shareThreshold, path, problems });
  const descriptors = yield* readDescriptors(reader, { path, depth: depth + 1, problems });
  if (key === undefined) return undefined;
  return {
    key: key.value,
    value: value?.value ?? '',
    limits,
    ...(inFlight && { inFlight }),
    shadowMode: modes.shadow_mode?.value ?? false,
    quotaMode: modes.quota_mode?.value ?? false,
    detailedMetric: detailedMetric?.value ?? false,
    valueToMetric,
    shareThreshold,
    ...(metadata && { metadata: metadata.value }),
    descriptors,
    offset: reader.offset,
    path,
    problems,
  };
}

interface FlagPlace {
  readonly value: Located<string> | undefined;
  readonly path: string;
  readonly problems: FileProblems;
}

/** A pattern is what is shared: without one there is a single value, which shares with nobody. */
function readShareThreshold(
  reader: MapReader,
  { key, value, path, problems }: FlagPlace & { readonly key: Located<string> | undefined },
): boolean {
  const flag = reader.flag('share_threshold');
  if (flag?.value !== true || key === undefined) return false;
  if (key.value.includes('*') || value?.value.includes('*') === true) return true;
  const message = 'needs a * in the value (or the key): all that it stands for share one counter; write such a value, or remove it';
  problems.report({ offset: flag.offset, path: joinPath(path, 'share_threshold'), message });
  return false;
}

function readValueToMetric(
  reader: MapReader,
  { value, shareThreshold, path, problems }: FlagPlace & { readonly shareThreshold: boolean },
): boolean {
  const flag = reader.flag('value_to_metric');
  if (flag?.value !== true) return false;
  const hasOneValue = value !== undefined && value.value !== '' && !value.value.includes('*');
  if (!shareThreshold && !hasOneValue) return true;
  const why = shareThreshold ? 'beside share_threshold: the pattern is shown' : 'beside a value without a *: it is shown as it is';
  problems.warn({ offset: flag.offset, path: joinPath(path, 'value_to_metric'), message: `has no effect ${why}; remove it` });
  return false;
}

/** What is unlimited is not counted, and requests in flight are: by themselves they need no `rate_limit` beside. */
function reportUnlimited(
  reader: MapReader,
  { limits, path, problems }: Pick<DescriptorSpec, 'limits' | 'path' | 'problems'>,
): void {
  if (!limits.some(({ kind }) => kind === 'unlimited')) return;
  const message = 'must not stand beside unlimited: true; remove that rate_limit: in_flight alone limits nothing else';
  problems.report({ offset: reader.child('in_flight')?.offset ?? reader.offset, path: joinPath(path, 'in_flight'), message });
}

/** Warns of keys that say something of a limit on a descriptor that has none: descriptors below it do not inherit them. */
function warnOfNoLimit(
  fields: Readonly<Record<string, Located<boolean | JsonObject> | undefined>>,
  { path, problems }: Pick<Nesting, 'path' | 'problems'>,
): void {
  for (const [field, said] of Object.entries(fields)) {
    if (said === undefined || said.value === false) continue;
    const message = 'has no effect on a descriptor without a limit; remove it, or set it where the limit is';
    problems.warn({ offset: said.offset, path: joinPath(path, field), message });
  }
}
