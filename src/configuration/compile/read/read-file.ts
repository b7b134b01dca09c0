/** Reads a configuration file and its descriptors, before they are compiled. */

import type { JsonObject } from '../../../domain/rule/rule';
import type { ConfigNode, ListNode } from '../../yaml/config-node';
import { DESCRIPTOR, type DescriptorFields } from '../fields/descriptor';
import { FILE, NESTING_MAX, type FileFields } from '../fields/file';
import type { Located, ValuesOf } from '../field-types/field';
import { explainForeignRoot } from '../foreign/foreign-config';
import { readInFlight, type InFlightSpec } from './read-in-flight';
import { MapReader } from './map-reader';
import { readPlans, type PlanSpec } from './read-plans';
import { readNetwork } from './read-network';
import { readLimits, type RateLimitSpec } from './read-limits';
import type { FileProblems, PlacedInFile } from '../../problems/problem-list';
import type { Network } from '../../../lib/address';
import { joinPath } from '../../../lib/quote';

export interface DomainSpec {
  readonly name: Located<string>;
  /** As read. */
  readonly fields: ValuesOf<FileFields>;
  readonly plans: readonly PlanSpec[];
  /** The problems of its file. */
  readonly problems: FileProblems;
}

/** Descriptors of one list, read one at a time so that only one is in memory. */
export interface DescriptorList {
  /** Undefined: the list is empty or invalid. */
  readonly list: ListNode | undefined;
  readonly path: string;
  /** 1 at the root. */
  readonly depth: number;
  readonly problems: FileProblems;
}

export interface DescriptorSpec extends PlacedInFile {
  /** As read; the other properties are made of them. */
  readonly fields: ValuesOf<DescriptorFields>;
  readonly key: string;
  /** `""` if the key alone is configured. */
  readonly value: string;
  /** The range of the value; absent: the value is compared as text. */
  readonly network?: Network;
  /** Empty: requests that match are not counted. */
  readonly limits: readonly RateLimitSpec[];
  readonly inFlight?: InFlightSpec;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly detailedMetric: boolean;
  /** Always false with a configured or shared value, which statistics show anyway. */
  readonly valueToMetric: boolean;
  /** Only with a star in the key or the value, or with a range. */
  readonly shareThreshold: boolean;
  readonly metadata?: JsonObject;
}

export interface ReadDomain {
  /** Absent: the domain is unusable. */
  readonly spec?: DomainSpec;
  readonly descriptors: DescriptorList;
}

/** The domain fields of the file, and its descriptors still to be read; undefined if the file is not a map. Problems are reported, and never stop the reading. */
export function readDomain(root: ConfigNode, problems: FileProblems): ReadDomain | undefined {
  const foreign = explainForeignRoot(root);
  if (foreign !== undefined) {
    problems.report(foreign);
    return undefined;
  }
  const fields = MapReader.open(root, { level: FILE, path: '', problems })?.values;
  if (fields === undefined) return undefined;
  const descriptors = openDescriptors(fields.descriptors, { path: '', depth: 1, problems });
  const plans = readPlans(fields.plans, problems);
  return fields.domain === undefined ? { descriptors } : { spec: { name: fields.domain, fields, plans, problems }, descriptors };
}

/** Position of a descriptor list: `depth` is 1 at the root. */
interface Nesting {
  readonly path: string;
  readonly depth: number;
  readonly problems: FileProblems;
}

function openDescriptors(field: Located<ListNode> | undefined, { path, depth, problems }: Nesting): DescriptorList {
  const list = field?.value;
  const listPath = joinPath(path, 'descriptors');
  if (list === undefined || list.length === 0) return { list: undefined, path: listPath, depth, problems };
  if (depth <= NESTING_MAX) return { list, path: listPath, depth, problems };
  const message = `descriptors are nested more than ${NESTING_MAX} deep, but requests have at most that number of entries; nest them less`;
  problems.report({ offset: list.offset, path: listPath, message });
  return { list: undefined, path: listPath, depth, problems };
}

export interface ReadDescriptor {
  /** Absent: the key is unusable. */
  readonly spec?: DescriptorSpec;
  /** Absent: the descriptor is not a map. */
  readonly below?: DescriptorList;
}

/** Reads one descriptor for each step. */
export function* readDescriptors({ list, path, depth, problems }: DescriptorList): Generator<ReadDescriptor> {
  if (list === undefined) return;
  let index = 0;
  for (const item of list.items) {
    yield readDescriptor(item, { path: `${path}[${index}]`, depth, problems });
    index += 1;
  }
}

/** Only reports problems, in descriptors that cannot be compiled. Yields after each. */
export function* findProblems(list: DescriptorList): Generator<undefined, void> {
  for (const { below } of readDescriptors(list)) {
    if (below !== undefined) yield* findProblems(below);
    yield;
  }
}

function readDescriptor(node: ConfigNode, { path, depth, problems }: Nesting): ReadDescriptor {
  const reader = MapReader.open(node, { level: DESCRIPTOR, path, problems });
  if (reader === undefined) return {};
  const fields = reader.values;
  const { key, value, metadata } = fields;
  const limits = readLimits(fields, { path, problems });
  const inFlight = fields.inFlight && readInFlight(fields.inFlight.value, { path, problems });
  if (fields.inFlight !== undefined) reportUnlimited(fields.inFlight, { limits, path, problems });
  if (limits.length === 0 && fields.inFlight === undefined && fields.tenant?.value !== true) warnOfNoLimit(fields, { path, problems });
  const network = readNetwork(fields, { path, problems });
  const shareThreshold = readShareThreshold(fields, { path, problems });
  const valueToMetric = readValueToMetric(fields, { shareThreshold, path, problems });
  const below = openDescriptors(fields.descriptors, { path, depth: depth + 1, problems });
  if (key === undefined) return { below };
  const spec: DescriptorSpec = {
    fields,
    key: key.value,
    value: value?.value ?? '',
    ...(network && { network }),
    limits,
    ...(inFlight && { inFlight }),
    shadowMode: fields.shadowMode?.value ?? false,
    quotaMode: fields.quotaMode?.value ?? false,
    detailedMetric: fields.detailedMetric?.value ?? false,
    valueToMetric,
    shareThreshold,
    ...(metadata && { metadata: metadata.value }),
    offset: node.offset,
    path,
    problems,
  };
  return { spec, below };
}

type Descriptor = ValuesOf<DescriptorFields>;
type Place = Pick<Nesting, 'path' | 'problems'>;

/** `share_threshold` needs a pattern or a range: without one there is a single value, which has nothing to share with. */
function readShareThreshold({ shareThreshold: flag, key, value, match }: Descriptor, { path, problems }: Place): boolean {
  if (flag?.value !== true || key === undefined) return false;
  if (key.value.includes('*') || value?.value.includes('*') === true || match !== undefined) return true;
  const message =
    'needs a * in the value or the key, or match: cidr: all values that match share one counter; add one of them, or remove it';
  problems.report({ offset: flag.offset, path: joinPath(path, 'share_threshold'), message });
  return false;
}

function readValueToMetric(
  { valueToMetric: flag, value, match }: Descriptor,
  { shareThreshold, path, problems }: Place & { readonly shareThreshold: boolean },
): boolean {
  if (flag?.value !== true) return false;
  const hasOneValue = value !== undefined && value.value !== '' && !value.value.includes('*') && match === undefined;
  if (!shareThreshold && !hasOneValue) return true;
  const why = shareThreshold ? 'beside share_threshold: the pattern is shown' : 'beside a value without a *: it is shown as it is';
  problems.warn({ offset: flag.offset, path: joinPath(path, 'value_to_metric'), message: `has no effect ${why}; remove it` });
  return false;
}

/** An unlimited descriptor is not counted, but its requests in flight are: `in_flight` needs no `rate_limit`. */
function reportUnlimited({ offset }: Located<ConfigNode>, { limits, path, problems }: Place & Pick<DescriptorSpec, 'limits'>): void {
  if (!limits.some(({ kind }) => kind === 'unlimited')) return;
  const message = 'conflicts with unlimited: true; remove that rate_limit, because in_flight alone limits nothing else';
  problems.report({ offset, path: joinPath(path, 'in_flight'), message });
}

const NEED_LIMIT = DESCRIPTOR.entries.filter(([, { needsLimit }]) => needsLimit);

/** Warns of keys that only affect limits, on a descriptor without one: descriptors below it do not inherit them. */
function warnOfNoLimit(fields: Readonly<Record<string, Located<unknown> | undefined>>, { path, problems }: Place): void {
  for (const [property, { name }] of NEED_LIMIT) {
    const field = fields[property];
    if (field === undefined || field.value === false) continue;
    const message = 'has no effect on a descriptor without a limit; remove it, or set it where the limit is';
    problems.warn({ offset: field.offset, path: joinPath(path, name), message });
  }
}
