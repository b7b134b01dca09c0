/** Random requests on a configuration: most walk down its tree, some miss it by a little. */

import type { Random } from '../../support/random/random';
import {
  UNITS,
  type Asked,
  type AskedDescriptor,
  type AskedEntry,
  type Configured,
  type ConfiguredDomain,
  type Unit,
} from '../model/asked';
import { chance, KEYS, pick, VALUES } from './random-configs';

const HITS = [0, 1, 2, 3, 5, 100, 4_294_967_295];
const OWN_HITS = [0n, 0n, 1n, 2n, 3n, 7n, 1_000n];
/** The reference lets them lower its counter, after which each call on it fails: they are only for who can take them. */
const HUGE_HITS = [2n ** 40n, 2n ** 63n, 2n ** 64n - 1n];
const STARS = ['', '1', 'y/z', '_b', 'b'];

export interface RandomRequestOptions {
  readonly random: Random;
  readonly config: ConfiguredDomain;
  readonly units?: readonly Unit[];
  readonly withHugeHits: boolean;
}

export function randomRequest(options: RandomRequestOptions): Asked {
  const { random, config } = options;
  const descriptors: AskedDescriptor[] = [];
  const count = chance(random, 1) ? 0 : 1 + random(3);
  for (let i = 0; i < count; i += 1) {
    const last = descriptors.at(-1);
    descriptors.push(last !== undefined && chance(random, 15) ? { ...last, ...randomParts(options) } : randomDescriptor(options));
  }
  const domain = chance(random, 1) ? pick(random, ['', `${config.domain}-unknown`]) : config.domain;
  return { domain, descriptors, ...(chance(random, 25) && { hits: pick(random, HITS) }) };
}

function randomDescriptor(options: RandomRequestOptions): AskedDescriptor {
  const { random, config } = options;
  const entries: AskedEntry[] = [];
  let level: readonly Configured[] = chance(random, 2) ? [] : config.descriptors;
  while (level.length > 0) {
    const configured = pick(random, level);
    entries.push(chance(random, 15) ? randomEntry(random) : entryOf(configured, random));
    level = chance(random, 65) ? (configured.descriptors ?? []) : [];
  }
  if (chance(random, 4)) entries.push(randomEntry(random));
  return { entries, ...randomParts(options) };
}

function randomParts({ random, units = UNITS, withHugeHits }: RandomRequestOptions): Omit<AskedDescriptor, 'entries'> {
  const hits = withHugeHits && chance(random, 10) ? HUGE_HITS : OWN_HITS;
  return {
    ...(chance(random, 20) && { hits: pick(random, hits) }),
    ...(chance(random, 4) && { isRefund: true }),
    ...(chance(random, 8) && { limit: { requestsPerUnit: random(12), unit: pick(random, units) } }),
  };
}

/** One that the descriptor matches, or nearly. */
function entryOf({ key, value = '' }: Configured, random: Random): AskedEntry {
  const unstar = (pattern: string) => pattern.replaceAll('*', () => pick(random, STARS));
  const isAsWritten = chance(random, 5);
  return { key: isAsWritten ? key : unstar(key), value: value === '' ? pick(random, VALUES) : isAsWritten ? value : unstar(value) };
}

function randomEntry(random: Random): AskedEntry {
  return { key: pick(random, KEYS), value: pick(random, VALUES) };
}
