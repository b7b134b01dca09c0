/** Answers a query from a summary. */

import { SHARE_MAX } from './nearest-keys';
import { compareKeys, type KeyCount, type KeyOwner, type Summary } from './summary';
import { TOP_COUNT_MAX, type TopAnswer, type TopItem, type TopQuery } from './top-keys';

export interface AnswerInput {
  readonly summary: Summary;
  readonly query: TopQuery;
}

export function answerOf({ summary, query }: AnswerInput): Pick<TopAnswer, 'items' | 'totalHits' | 'unlistedMax'> {
  const { owners, rest } = summary[query.question];
  const isNear = query.question === 'near';
  const asked = Array.from(owners).filter(([owner]) => isAsked(owner, query));
  const found = asked.flatMap(([owner, { keys }]) => keys.map((key) => ({ owner, key })));
  // The total and the bound of one rule with counters of its own need nothing of those that share.
  const isAlone = query.rule !== undefined && asked.length > 0 && asked.every(([, { isOwn }]) => isOwn);
  let { total, unlisted } = isAlone ? { total: 0, unlisted: 0 } : rest;
  for (const [, of] of asked) {
    total += of.total;
    unlisted = Math.max(unlisted, of.unlisted);
  }
  const count = Math.min(query.count, TOP_COUNT_MAX);
  found.sort((a, b) => compareKeys(a.key, b.key));
  for (const { key } of found.slice(count)) unlisted = Math.max(unlisted, isNear ? key.share : key.count);
  const items = found.slice(0, count).map(({ owner, key }) => itemOf(owner, { key, isNear }));
  return { items, totalHits: total, unlistedMax: unlisted };
}

function isAsked({ domain, rule }: KeyOwner, query: TopQuery): boolean {
  return (query.domain === undefined || query.domain === domain) && (query.rule === undefined || query.rule === rule);
}

function itemOf(owner: KeyOwner, { key, isNear }: { readonly key: KeyCount; readonly isNear: boolean }): TopItem {
  const { count, error, share, limit, remainingShare } = key;
  return {
    domain: owner.domain,
    rule: owner.rule,
    entries: owner.entriesOf(key.key),
    count,
    error,
    ...(isNear && { usedShare: share / SHARE_MAX }),
    ...(limit && {
      limit: { name: limit.name, requestsPerUnit: limit.requestsPerUnit, unit: limit.unit, unitMultiplier: limit.unitMultiplier },
    }),
    ...(remainingShare !== undefined && { remainingShare }),
  };
}
