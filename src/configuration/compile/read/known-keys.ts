/** Reports keys that a level of a configuration does not have. */

import type { MapNode } from '../../yaml/config-node';
import { didYouMean } from '../../../lib/text/did-you-mean';
import type { FileProblems } from '../../problems/problem-list';
import { joinPath } from '../../../lib/quote';
import type { Level } from '../field-types/field';
import { LEVELS } from '../fields/levels';

/** Most unknown keys of one map to report; the rest are counted, because each is compared with all known keys. */
const UNKNOWN_KEYS_MAX = 20;

/** Reports keys that are unknown at that level, and warns of accepted ones without effect. */
export function checkKeys(
  node: MapNode,
  { level, path, problems }: { readonly level: Level; readonly path: string; readonly problems: FileProblems },
): void {
  const { known, ignored } = level;
  let unknown = 0;
  for (const [key, { keyOffset }] of node.fields) {
    if (known.has(key)) continue;
    const why = Object.hasOwn(ignored, key) ? ignored[key] : undefined;
    if (why !== undefined) {
      problems.warn({ offset: keyOffset, path: joinPath(path, key), message: why });
      continue;
    }
    unknown += 1;
    if (unknown > UNKNOWN_KEYS_MAX) continue;
    problems.report({ offset: keyOffset, path: joinPath(path, key), message: explainKey(key, level) });
  }
  if (unknown > UNKNOWN_KEYS_MAX) problems.omit(unknown - UNKNOWN_KEYS_MAX);
}

function explainKey(key: string, { keys, title }: Level): string {
  const homes = LEVELS.filter(({ known }) => known.has(key));
  if (homes.length > 0) return `unknown key in ${title}; it belongs ${homes.map(({ home }) => home).join(' or ')}`;
  const meant = didYouMean(key, keys);
  return `unknown key in ${title}; ${meant === undefined ? `use ${keys.join(', ')}` : `did you mean ${meant}?`}`;
}
