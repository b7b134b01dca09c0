/** Reads `plans` of a domain, before they are compiled. */

import { joinPath } from '../../../lib/quote';
import type { FileProblems, PlacedInFile } from '../../problems/problem-list';
import type { ConfigNode, MapNode } from '../../yaml/config-node';
import type { Located } from '../field-types/field';
import { PLANS_MAX, PLAN_NAME_BYTES_MAX } from '../fields/file';
import { PLAN } from '../fields/plan';
import { MapReader } from './map-reader';
import { readLimits, readPool, type LimitedSpec, type RateLimitSpec } from './read-limits';

export interface PlanSpec extends PlacedInFile {
  readonly name: string;
  readonly limits: readonly RateLimitSpec[];
  readonly pool: readonly LimitedSpec[];
  readonly members: Located<string> | undefined;
}

/** The plans with their usable limits; problems are reported. */
export function readPlans(field: Located<MapNode> | undefined, problems: FileProblems): readonly PlanSpec[] {
  if (field === undefined) return [];
  const { value: map, offset } = field;
  const report = (message: string) => {
    problems.report({ offset, path: 'plans', message });
  };
  if (map.fields.size === 0) report('is empty; give it at least one plan, or remove it');
  if (map.fields.size > PLANS_MAX) report(`has ${map.fields.size} plans; use at most ${PLANS_MAX}`);
  const plans: PlanSpec[] = [];
  for (const [name, { keyOffset, value }] of map.fields) {
    if (plans.length === PLANS_MAX) break;
    const path = joinPath('plans', name);
    const fault = faultOf(name);
    if (fault !== undefined) problems.report({ offset: keyOffset, path, message: fault });
    plans.push({ name, ...readPlan({ value, path, problems }), offset: keyOffset, path, problems });
  }
  return plans;
}

function faultOf(name: string): string | undefined {
  if (name === '') return 'has an empty name; give the plan a name';
  return Buffer.byteLength(name) > PLAN_NAME_BYTES_MAX ? `has a name of over ${PLAN_NAME_BYTES_MAX} bytes; shorten it` : undefined;
}

/** A plan has at least one of them. */
const LIMITS = ['rate_limit', 'rate_limits', 'pool'];

interface PlanPlace {
  readonly value: ConfigNode;
  readonly path: string;
  readonly problems: FileProblems;
}

const NOTHING_READ: Pick<PlanSpec, 'limits' | 'pool' | 'members'> = { limits: [], pool: [], members: undefined };

function readPlan({ value, path, problems }: PlanPlace): Pick<PlanSpec, 'limits' | 'pool' | 'members'> {
  const reader = MapReader.open(value, { level: PLAN, path, problems });
  if (reader === undefined) return NOTHING_READ;
  if (LIMITS.every((key) => reader.child(key) === undefined)) {
    problems.report({
      offset: value.offset,
      path,
      message: 'has no limit; give it rate_limit, rate_limits or pool, perhaps with unlimited: true',
    });
    return NOTHING_READ;
  }
  const { pool, members } = reader.values;
  return { limits: readLimits(reader.values, { path, problems }), pool: readPool(pool, { path, problems }), members };
}
