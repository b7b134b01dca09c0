/** Blocks, passes, penalties and stopped rollouts are events, in which hashed values stay hashed. */

import { toByteString } from '../../../src/domain/descriptor/byte-string';
import { HashedValues } from '../../../src/server/observability/decision-log/hashed-values';
import { keyOf, type ControlRecord } from '../../../src/state/control/control-record';
import { controlMark } from '../../../src/state/events/control-events';
import type { EventPrivacy } from '../../../src/state/events/event-text';
import { ThresholdWatch } from '../../../src/state/events/threshold-watch';
import type { Mark } from '../../../src/state/events/outbox';
import { CLEAR, decidedOf, limitWith } from '../../support/events/watched';

const AT_MS = 1_800_000_000_000;
const VERSION = AT_MS * 1_000 + 7;

const hashed = new HashedValues({ secret: '0123456789abcdef', keys: ['client'] });
const HASHED: EventPrivacy = {
  ...CLEAR,
  hashes: true,
  value: (key, value) => (hashed.hashes(key) ? hashed.of(value) : value),
  level: (level, entry) => hashed.level(level, entry),
};

const entries = [{ key: 'client', value: '10.0.0.7' }];
const BLOCK: ControlRecord = { kind: 'block', domain: 'd', id: 'b', entries, author: 'ann', reason: 'fraud', untilMs: AT_MS + 5_000 };

function markOf(record: ControlRecord | undefined, { privacy = CLEAR, nowMs = AT_MS }: { privacy?: EventPrivacy; nowMs?: number } = {}) {
  const key = record === undefined ? { kind: 'block' as const, domain: 'd', name: 'b' } : keyOf(record);
  return controlMark({ key, version: VERSION, ...(record && { record }) }, { privacy, nowMs });
}

const readText = (mark: Mark | undefined) => JSON.parse(mark?.text ?? 'null') as Record<string, unknown> | null;

test('a block is an event with its terms, and its version names it', () => {
  expect(readText(markOf(BLOCK))).toEqual({
    type: 'weir.block.written',
    subject: 'd/b',
    time: new Date(AT_MS).toISOString(),
    data: { domain: 'd', id: 'b', entries, until: new Date(AT_MS + 5_000).toISOString(), reason: 'fraud', author: 'ann' },
  });
  expect(markOf(BLOCK)?.key).toMatch(new RegExp(`\\.${VERSION}$`));
});

const GUARDED = { percent: 0, stopped: true as const, author: 'guard' };
const LIMIT = { requestsPerUnit: 5, unit: 'minute' as const };

test.each<[string, ControlRecord | undefined, string | undefined]>([
  ['a pass', { kind: 'pass', domain: 'd', id: 'p', entries }, 'weir.pass.written'],
  ['a penalty', { kind: 'block', domain: 'd', id: 'penalty-1', entries }, 'weir.penalty.begun'],
  ['a rollout that a guard stopped', { kind: 'rollout', domain: 'd', rule: 'k', ...GUARDED }, 'weir.rollout.stopped'],
  [
    'the rollout of an override that a guard stopped',
    { kind: 'override', domain: 'd', id: 'o', entries, limit: LIMIT, candidate: true, rollout: GUARDED, author: 'guard' },
    'weir.rollout.stopped',
  ],
  ['a rollout that an operator stopped', { kind: 'rollout', domain: 'd', rule: 'k', ...GUARDED, author: 'ann' }, undefined],
  ['a step of a rollout', { kind: 'rollout', domain: 'd', rule: 'k', percent: 5, author: 'guard' }, undefined],
  ['an override', { kind: 'override', domain: 'd', id: 'o', entries, limit: LIMIT }, undefined],
  ['a tenant', { kind: 'tenant', domain: 'd', tenant: 't', plan: 'p' }, undefined],
  ['a deletion', undefined, undefined],
])('%s', (_what, record, type) => {
  expect(readText(markOf(record))?.type).toBe(type);
});

test('a record that a starting process reads long after its write is none', () => {
  expect(markOf(BLOCK, { nowMs: AT_MS + 1_200_000 })).toBeDefined();
  expect(markOf(BLOCK, { nowMs: AT_MS + 1_200_001 })).toBeUndefined();
});

test('hashed values are in no event, nor is the path of the rule of a penalty', () => {
  const penalty: ControlRecord = { ...BLOCK, id: 'penalty-1', reason: 'penalty: 3 denials by the rule client_10.0.0.7' };
  const texts = [BLOCK, penalty].map((record) => markOf(record, { privacy: HASHED })?.text ?? '');
  const queued: Mark[] = [];
  const queue = { add: (mark: Mark) => queued.push(mark) > 0 };
  const decided = decidedOf({ limit: limitWith([50]), used: 60, nowUs: VERSION, entries });
  const matches = decided.matched.matches.map((match) => ({ ...match, path: ['client_10.0.0.7'] }));
  new ThresholdWatch({ queue, privacy: HASHED }).record({ ...decided, matched: { ...decided.matched, matches } });
  for (const text of [...texts, queued[0]!.text]) {
    expect(text).toContain(hashed.of(toByteString('10.0.0.7')));
    expect(text).not.toContain('10.0.0.7');
  }
  expect(queued[0]!.key + queued[0]!.id).not.toContain('10.0.0.7');
});
