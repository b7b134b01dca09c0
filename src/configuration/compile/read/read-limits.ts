/** Reads `rate_limit` and `rate_limits`, before they are compiled. */

import { UNIT_NAMES, type UnitName } from '../../../domain/descriptor/unit';
import type { ConfigNode, ListNode } from '../../yaml/config-node';
import { LIMITS_MAX, type DescriptorFields } from '../fields/descriptor';
import { RATE_LIMIT, type RateLimitFields } from '../fields/rate-limit';
import type { Located, ValuesOf } from '../field-types/field';
import { headerSafe } from '../field-types/limit-types';
import { firstItems } from '../field-types/nested-types';
import { explainForeignLimit } from '../foreign/foreign-config';
import { MapReader } from './map-reader';
import type { FileProblems, PlacedInFile } from '../../problems/problem-list';
import { joinPath, show } from '../../../lib/quote';

export type RateLimitSpec = UnlimitedSpec | LimitedSpec;

export interface ReplacedName extends Located<string> {
  readonly path: string;
}

interface Named {
  /** `""` without a name. */
  readonly name: string;
  /** Names of limits that this one replaces. */
  readonly replaces: readonly ReplacedName[];
}

export interface UnlimitedSpec extends Named {
  readonly kind: 'unlimited';
}

export interface LimitedSpec extends Named, PlacedInFile {
  readonly kind: 'limited';
  /** As read. */
  readonly fields: ValuesOf<RateLimitFields>;
  readonly unit: Located<UnitName>;
  /** Whether the value of every field is usable. */
  readonly isReadable: boolean;
  /** Also true if its value is invalid. */
  readonly givesRequestsPerUnit: boolean;
}

interface Place {
  readonly path: string;
  readonly problems: FileProblems;
}

/** The limits of a descriptor or a plan: one from `rate_limit`, or all of `rate_limits`. */
export function readLimits(
  { rateLimit: one, rateLimits }: Pick<ValuesOf<DescriptorFields>, 'rateLimit' | 'rateLimits'>,
  { path, problems }: Place,
): RateLimitSpec[] {
  const listPath = joinPath(path, 'rate_limits');
  if (rateLimits === undefined)
    return one === undefined ? [] : present(readRateLimit(one.value, { path: joinPath(path, 'rate_limit'), problems }));
  const list = rateLimits.value;
  if (one !== undefined)
    problems.report({ offset: list.offset, path: listPath, message: 'conflicts with rate_limit; move that limit into the list' });
  const unlimited = 'holds unlimited: true, which excludes other limits; use rate_limit';
  return readLimitList(list, { path: listPath, problems, unlimited });
}

/** The limits of a plan's pool; none without one. */
export function readPool(pool: Located<ListNode> | undefined, { path, problems }: Place): LimitedSpec[] {
  if (pool === undefined) return [];
  const unlimited = 'holds unlimited: true; remove the pool, which then counts nothing';
  const limits = readLimitList(pool.value, { path: joinPath(path, 'pool'), problems, unlimited });
  return limits.flatMap((limit) => {
    if (limit.kind === 'unlimited') return [];
    const { candidate } = limit.fields;
    if (candidate !== undefined)
      problems.report({
        offset: candidate.offset,
        path: joinPath(limit.path, 'candidate'),
        message: 'is not for a limit of a pool; remove it',
      });
    return [limit];
  });
}

interface ListPlace extends Place {
  /** The problem of a limit with `unlimited: true`. */
  readonly unlimited: string;
}

function readLimitList(list: ListNode, { path, problems, unlimited }: ListPlace): RateLimitSpec[] {
  const report = (message: string) => {
    problems.report({ offset: list.offset, path, message });
  };
  if (list.length === 0) report('is empty; list at least one limit, or remove it');
  if (list.length > LIMITS_MAX) report(`has ${list.length} limits; use at most ${LIMITS_MAX}`);
  const limits = firstItems(list, LIMITS_MAX).flatMap((item, index) =>
    present(readRateLimit(item, { path: `${path}[${index}]`, problems })),
  );
  if (limits.some(({ kind }) => kind === 'unlimited')) report(unlimited);
  return limits;
}

function present<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

function readRateLimit(node: ConfigNode, { path, problems }: Place): RateLimitSpec | undefined {
  const foreign = explainForeignLimit(node, path);
  if (foreign !== undefined) {
    problems.report(foreign);
    return undefined;
  }
  const reader = MapReader.open(node, { level: RATE_LIMIT, path, problems });
  if (reader === undefined) return undefined;
  const { values: fields, offset } = reader;
  const named = readNames(fields, { problems });
  const unit = reader.child('unit');
  if (fields.unlimited?.value === true) {
    if (unit !== undefined) reader.refuse(unit, 'unit', 'conflicts with unlimited: true; remove one of them');
    warnOfCounting(reader, { path, problems });
    return { kind: 'unlimited', ...named };
  }
  if (fields.unit === undefined) {
    if (unit === undefined) reader.reportMissing('unit', `use one of ${UNIT_NAMES.join(', ')}`);
    return undefined;
  }
  // A problem that follows from an unusable value would only mislead.
  const isReadable = RATE_LIMIT.entries.every(([property, { name }]) => property in fields || reader.child(name) === undefined);
  const givesRequestsPerUnit = reader.child('requests_per_unit') !== undefined;
  return { kind: 'limited', ...named, fields, unit: fields.unit, isReadable, givesRequestsPerUnit, offset, path, problems };
}

const COUNTING = RATE_LIMIT.entries.filter(([, { counts }]) => counts).map(([, { name }]) => name);

function warnOfCounting(reader: MapReader<RateLimitFields>, { path, problems }: Place): void {
  for (const field of COUNTING) {
    const node = reader.child(field);
    if (node === undefined) continue;
    problems.warn({ offset: node.offset, path: joinPath(path, field), message: 'has no effect beside unlimited: true; remove it' });
  }
}

const NO_NAMES: readonly never[] = [];

function readNames({ name: given, replaces: items }: ValuesOf<RateLimitFields>, { problems }: Pick<Place, 'problems'>): Named {
  const name = given?.value ?? '';
  if (items === undefined) return { name, replaces: NO_NAMES };
  const replaces = items.value.flatMap(({ fields, path: itemPath }) => {
    const replaced = fields.name;
    if (replaced === undefined) return [];
    const at = { offset: replaced.offset, path: joinPath(itemPath, 'name') };
    const value = headerSafe(replaced.value);
    if (value === name) problems.report({ ...at, message: `${show(name)} is the limit's own name; name another limit, or remove it` });
    return [{ ...at, value }];
  });
  return { name, replaces };
}
