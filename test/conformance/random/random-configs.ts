/** Random configurations: few keys and values, so that exact values, wildcards, keys alone and near misses meet often. */

import type { Random } from '../../support/random/random';
import { UNITS, type Configured, type ConfiguredDomain, type ConfiguredLimit, type Unit } from '../model/asked';

export const KEYS = ['a', 'b', 'a_b', 'k', 'path'] as const;
export const VALUES = ['v', 'w', 'c', 'b_c', 'x/1', 'x/2', 'x/y', 'v*', 'x/*', '', 'ü', 'v1.2', '10.0.0.1', 'w:1|2'] as const;

const CONFIGURED_KEYS = [...KEYS, ...KEYS, 'pa*', '*'];
const CONFIGURED_VALUES = ['', '', '', 'v', 'w', 'c', 'b_c', 'x/1', 'v1.2', 'x/*', 'x/*', 'x/y*', '*', '*/1', 'v*', 'x*1', '*b*'];
const NAMES = ['basic', 'plus', 'gold'];
const REQUESTS_PER_UNIT = [0, 1, 1, 2, 3, 3, 5, 8, 20, 4_294_967_295];
const DESCRIPTORS_MAX = 6;
const DEPTH_MAX = 3;

export interface RandomConfigOptions {
  readonly random: Random;
  readonly domain: string;
  readonly units?: readonly Unit[];
}

export function randomConfig({ random, domain, units = UNITS }: RandomConfigOptions): ConfiguredDomain {
  return { domain, descriptors: randomLevel({ random, units, depth: 1 }) };
}

export function pick<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)]!;
}

/** True in this percentage of cases. */
export function chance(random: Random, percent: number): boolean {
  return random(100) < percent;
}

interface Level {
  readonly random: Random;
  readonly units: readonly Unit[];
  readonly depth: number;
}

function randomLevel(level: Level): Configured[] {
  const { random } = level;
  const byWhole = new Map<string, Configured>();
  const count = 1 + random(DESCRIPTORS_MAX);
  for (let i = 0; i < count; i += 1) {
    const [key, value] = [pick(random, CONFIGURED_KEYS), pick(random, CONFIGURED_VALUES)];
    // The reference takes a level in which two are the same as one text for a mistake.
    const whole = value === '' ? key : `${key}_${value}`;
    if (!byWhole.has(whole)) byWhole.set(whole, randomDescriptor({ key, value }, level));
  }
  return [...byWhole.values()];
}

function randomDescriptor({ key, value }: { readonly key: string; readonly value: string }, { random, units, depth }: Level): Configured {
  return {
    key,
    ...(value !== '' && { value }),
    ...(chance(random, 80) && { rate_limit: randomLimit(random, units) }),
    ...(chance(random, 12) && { shadow_mode: true }),
    ...(chance(random, 15) && { quota_mode: true }),
    ...(`${key}${value}`.includes('*') && chance(random, 40) && { share_threshold: true }),
    ...(chance(random, 8) && { detailed_metric: true }),
    ...(chance(random, 12) && { value_to_metric: true }),
    ...(depth < DEPTH_MAX && chance(random, 35) && { descriptors: randomLevel({ random, units, depth: depth + 1 }) }),
  };
}

function randomLimit(random: Random, units: readonly Unit[]): ConfiguredLimit {
  const name = chance(random, 40) ? pick(random, NAMES) : '';
  const others = NAMES.filter((other) => other !== name);
  const named = { ...(name !== '' && { name }), ...(chance(random, 15) && { replaces: [{ name: pick(random, others) }] }) };
  if (chance(random, 8)) return { unlimited: true, ...named };
  // Without a number it is 0.
  const number = chance(random, 97) && { requests_per_unit: pick(random, REQUESTS_PER_UNIT) };
  return { unit: pick(random, units), ...number, ...named };
}
