/** The YAML configuration's shape: what one file says, before anything is made of it. */

import { ENTRIES_MAX } from '../descriptor/bounds';
import { ALGORITHMS, type Algorithm } from '../rule/limit';
import { UNIT_NAMES, type UnitName } from '../rule/unit';
import type { ConfigNode } from './config-node';
import { MapReader, type Located } from './map-reader';
import type { FileProblems } from './problem-list';
import { joinPath } from './show';

/** Levels of descriptors. A request has no more entries than that, so deeper ones could never match. */
export const NESTING_MAX = ENTRIES_MAX;

export interface DomainSpec {
  readonly name: Located<string>;
  /** Absent: the default of the source. */
  readonly algorithm?: Algorithm;
  readonly descriptors: readonly DescriptorSpec[];
}

export interface DescriptorSpec {
  readonly key: string;
  /** `""` if the key alone is configured. */
  readonly value: string;
  readonly rateLimit?: RateLimitSpec;
  readonly shadowMode: boolean;
  readonly quotaMode: boolean;
  readonly descriptors: readonly DescriptorSpec[];
  readonly offset: number;
  /** In the document: `descriptors[0].descriptors[2]`. */
  readonly path: string;
}

export type RateLimitSpec = { readonly kind: 'unlimited' } | LimitedSpec;

export interface LimitedSpec {
  readonly kind: 'limited';
  readonly unit: UnitName;
  readonly requestsPerUnit?: Located<number>;
  readonly unitMultiplier?: Located<number>;
  readonly burst?: Located<number>;
  readonly name: string;
  readonly algorithm?: Algorithm;
  readonly offset: number;
  readonly path: string;
}

const ALGORITHM_CHOICE = { names: ALGORITHMS, what: 'algorithm' };
const UNIT_CHOICE = { names: UNIT_NAMES, what: 'unit' };

/** What the file says; undefined if it has no usable domain. Problems are reported, and never stop the reading. */
export function readDomain(root: ConfigNode, problems: FileProblems): DomainSpec | undefined {
  const reader = MapReader.open(root, { level: 'root', path: '', problems });
  if (reader === undefined) return undefined;
  const name = reader.requiredText('domain');
  const algorithm = reader.choice('algorithm', ALGORITHM_CHOICE);
  const descriptors = readDescriptors(reader, { path: '', depth: 1, problems });
  if (name === undefined) return undefined;
  return { name, descriptors, ...(algorithm && { algorithm: algorithm.value }) };
}

/** Where the descriptors of a list stand: `depth` is 1 at the root. */
interface Nesting {
  readonly path: string;
  readonly depth: number;
  readonly problems: FileProblems;
}

function readDescriptors(reader: MapReader, { path, depth, problems }: Nesting): DescriptorSpec[] {
  const list = reader.list('descriptors');
  if (list === undefined || list.items.length === 0) return [];
  const listPath = joinPath(path, 'descriptors');
  if (depth > NESTING_MAX) {
    const message = `descriptors are nested more than ${NESTING_MAX} deep; no request has that many entries`;
    problems.report({ offset: list.offset, path: listPath, message });
    return [];
  }
  return list.items.flatMap((item, index) => {
    const descriptor = readDescriptor(item, { path: `${listPath}[${index}]`, depth, problems });
    return descriptor === undefined ? [] : [descriptor];
  });
}

function readDescriptor(node: ConfigNode, { path, depth, problems }: Nesting): DescriptorSpec | undefined {
  const reader = MapReader.open(node, { level: 'descriptor', path, problems });
  if (reader === undefined) return undefined;
  const key = reader.requiredText('key');
  const value = reader.text('value');
  const limitNode = reader.child('rate_limit');
  const limitPath = joinPath(path, 'rate_limit');
  const rateLimit = limitNode && readRateLimit(limitNode, { path: limitPath, problems });
  const shadowMode = reader.flag('shadow_mode');
  const quotaMode = reader.flag('quota_mode');
  const descriptors = readDescriptors(reader, { path, depth: depth + 1, problems });
  if (key === undefined) return undefined;
  const spec = { key: key.value, value: value?.value ?? '', shadowMode, quotaMode, descriptors, offset: reader.offset, path };
  return rateLimit === undefined ? spec : { ...spec, rateLimit };
}

function readRateLimit(
  node: ConfigNode,
  { path, problems }: { path: string; problems: FileProblems },
): RateLimitSpec | undefined {
  const reader = MapReader.open(node, { level: 'rate_limit', path, problems });
  if (reader === undefined) return undefined;
  const unlimited = reader.flag('unlimited');
  // Read in either case: a bad value is a mistake even where it would mean nothing.
  const limited = readLimited(reader, path);
  if (!unlimited) {
    if (limited === undefined && reader.child('unit') === undefined) {
      reader.reportMissing('unit', `use one of ${UNIT_NAMES.join(', ')}`);
    }
    return limited;
  }
  const unit = reader.child('unit');
  if (unit !== undefined) {
    const message = 'must not stand beside unlimited: true; remove one of them';
    problems.report({ offset: unit.offset, path: joinPath(path, 'unit'), message });
  }
  return { kind: 'unlimited' };
}

/** Undefined without a usable unit. */
function readLimited(reader: MapReader, path: string): LimitedSpec | undefined {
  const unit = reader.choice('unit', UNIT_CHOICE);
  const requestsPerUnit = reader.uint32('requests_per_unit');
  const unitMultiplier = reader.uint32('unit_multiplier');
  const burst = reader.uint32('burst');
  const name = reader.text('name');
  const algorithm = reader.choice('algorithm', ALGORITHM_CHOICE);
  if (unit === undefined) return undefined;
  return {
    kind: 'limited',
    unit: unit.value,
    name: name?.value ?? '',
    offset: reader.offset,
    path,
    ...(requestsPerUnit && { requestsPerUnit }),
    ...(unitMultiplier && { unitMultiplier }),
    ...(burst && { burst }),
    ...(algorithm && { algorithm: algorithm.value }),
  };
}
