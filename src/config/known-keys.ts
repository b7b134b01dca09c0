/** The keys a configuration may have, level by level, and what is said about any other. */

import type { MapNode } from './config-node';
import { didYouMean } from './did-you-mean';
import type { FileProblems } from './problem-list';
import { joinPath } from './show';

interface Level {
  readonly keys: readonly string[];
  /** How a problem names the level. */
  readonly title: string;
  /** How a problem says where a misplaced key belongs. */
  readonly home: string;
}

export type LevelName = 'root' | 'descriptor' | 'rate_limit' | 'in_flight' | 'replaces' | 'reservations';

const LEVELS: Readonly<Record<LevelName, Level>> = {
  root: { keys: ['domain', 'descriptors', 'algorithm', 'failure_mode', 'response_headers', 'overdraft', 'hash_tag'], title: 'the file', home: 'at the root of the file' },
  descriptor: {
    keys: [
      'key',
      'value',
      'rate_limit',
      'rate_limits',
      'in_flight',
      'descriptors',
      'shadow_mode',
      'quota_mode',
      'detailed_metric',
      'value_to_metric',
      'share_threshold',
      'metadata',
    ],
    title: 'a descriptor',
    home: 'inside a descriptor',
  },
  rate_limit: {
    keys: [
      'unit',
      'requests_per_unit',
      'unlimited',
      'name',
      'replaces',
      'unit_multiplier',
      'burst',
      'algorithm',
      'calendar',
      'time_zone',
      'failure_mode',
      'response_headers',
      'overdraft',
      'overdraft_max',
      'reservations',
    ],
    title: 'rate_limit',
    home: 'inside rate_limit',
  },
  in_flight: { keys: ['max', 'hold', 'id', 'name', 'failure_mode', 'response_headers'], title: 'in_flight', home: 'inside in_flight' },
  replaces: { keys: ['name'], title: 'an item of replaces', home: 'inside an item of replaces' },
  reservations: { keys: ['max_share', 'on_lapse'], title: 'reservations', home: 'inside reservations' },
};

export function keysOf(level: LevelName): readonly string[] {
  return LEVELS[level].keys;
}

/** Reports every key of the map that has no meaning at that level. */
export function checkKeys(
  node: MapNode,
  { level, path, problems }: { level: LevelName; path: string; problems: FileProblems },
): void {
  const { keys } = LEVELS[level];
  for (const [key, { keyOffset }] of node.fields) {
    if (keys.includes(key)) continue;
    problems.report({ offset: keyOffset, path: joinPath(path, key), message: explainKey(key, LEVELS[level]) });
  }
}

function explainKey(key: string, { keys, title }: Level): string {
  const homes = Object.values(LEVELS).filter((level) => level.keys.includes(key));
  if (homes.length > 0) return `no key of ${title}; it belongs ${homes.map(({ home }) => home).join(' or ')}`;
  const meant = didYouMean(key, keys);
  return `no key of ${title}; ${meant === undefined ? `use ${keys.join(', ')}` : `did you mean ${meant}?`}`;
}
