/** The scenarios that mutants face: by hand for each rule of the decision, from the vectors, and random ones of a fixed seed. */

import fc from 'fast-check';
import { ALGORITHMS, type Algorithm, type BucketAlgorithm } from '../../src/domain/algorithm/algorithms';
import type { BucketLimit, Group, Adjustment, Take } from '../../src/domain/bucket/take';
import { UINT32_MAX } from '../../src/domain/rule/limit';
import { groupOf, LIMITS, adjustment, take, TEN_PER_SECOND, THREE_PER_MINUTE } from '../support/decisions/groups';
import { packState } from '../support/redis/pack-state';
import { HIT_ALGORITHMS, plainSchedules, schedules, settlingSchedules, type ScheduleStep } from '../support/random/schedules';
import { slotSchedules } from '../support/random/slot-schedules';
import { loadTimelines } from '../support/decisions/timelines';
import type { Batch } from './kill-suite';
import { expectScenario, type Call, type ExpectedBucket, type ExpectedScenario, type Scenario } from './scenario';

const START_US = 1_800_000_000_000_000;
const SEED = 4;
const SECOND_US = 1_000_000;
const DAY_US = 86_400_000_000;
const YEAR_US = 365 * DAY_US;
const CENTURY_US = 100 * YEAR_US;
const BEYOND_EXACT = String(2 ** 53);

/** The quick ones that kill most come first. */
export function loadBatches(): readonly Batch[] {
  return [
    batch('scenario', [...plain(), ...decisions(), ...folds(), ...unreadable(), ...denials(), ...checks(), ...reports()]),
    { name: "fold that can't be", scenarios: [foldOfLog()] },
    batch('edge', [...edges(), ...logs(), ...counters(), ...calendars()]),
    batch('adjustment', [...adjustments(), ...givenBack(), ...adjustedCalendars()]),
    batch('slots', [...slots(), ...adjustedSlots()]),
    batch('TTL', ttls()),
    // A batch of its own: the one above needs every time to full to end on a microsecond.
    batch('TTL of several limits', ttlsOfSeveralLimits()),
    batch('TTL of adjustments', ttlsOfAdjustments()),
    batch('timeline', timelines()),
    ...[undefined, ...HIT_ALGORITHMS].map((algorithm) => batch(`random ${algorithm ?? 'mix'}`, randoms(schedules(algorithm)))),
    batch('random plain', randoms(plainSchedules())),
    batch('the long way', [...decisions(), ...folds(), ...edges(), ...timelines(), ...plain()].map(theLongWay)),
    batch('TTL, the long way', ttls().map(theLongWay)),
    batch('random plain, the long way', randoms(plainSchedules()).map(theLongWay)),
    batch('random slots', randomSlots()),
    ...[undefined, ...HIT_ALGORITHMS].map((algorithm) => batch(`random adjustments, ${algorithm ?? 'mix'}`, randomAdjustments(algorithm))),
  ];
}

function batch(name: string, scenarios: readonly Scenario[]): Batch {
  return { name, scenarios: scenarios.map((scenario, i) => expectScenario(scenario, `${i}:`)) };
}

/** A group that is not plain beside its groups: then none of the run is decided the straight way. */
function theLongWay({ calls, ...scenario }: Scenario): Scenario {
  const beside = groupOf([]);
  return { ...scenario, calls: calls.map((call) => ('groups' in call ? { ...call, groups: [...call.groups, beside] } : call)) };
}

/** One call for each group, at START_US plus so many microseconds. */
function inTurn(...calls: readonly (readonly [number, ...Take[]])[]): readonly Call[] {
  return calls.map(([afterUs, ...takes]) => ({ nowUs: START_US + afterUs, groups: [groupOf(takes)] }));
}

/** All in one run of the script. */
function atOnce(...groups: readonly Group[]): readonly Call[] {
  return [{ nowUs: START_US, groups }];
}

/** One call, its times taken as microseconds after START_US. */
function adjustAt(afterUs: number, ...adjustments: readonly Adjustment[]): Call {
  return { nowUs: START_US + afterUs, adjustments };
}

/** Hits of a take so many microseconds after START_US, given back. */
function back(key: string, hits: number, [limit, takenAfterUs, usedBefore = 0]: readonly [BucketLimit, number, number?]): Adjustment {
  return adjustment(key, { hits: -hits, limit, takenAtUs: START_US + takenAfterUs, usedBefore });
}

function limit(algorithm: BucketAlgorithm, requestsPerUnit: number, windowUs: number, capacity = requestsPerUnit): BucketLimit {
  return { algorithm, requestsPerUnit, windowUs, capacity };
}

/** What is decided the straight way, and what only looks as if it could be. */
function plain(): readonly Scenario[] {
  const PLAIN = [limit('token_bucket', 4, SECOND_US), limit('leaky_bucket', 4, SECOND_US, 3), limit('fixed_window', 4, SECOND_US)];
  const other = limit('token_bucket', 5, SECOND_US);
  const window = limit('fixed_window', 20, SECOND_US);
  return [
    {
      name: 'windows that several groups of a run begin, and charge again in their course',
      calls: [0, 1, 2].map((afterUs) => ({
        nowUs: START_US + afterUs,
        groups: [
          groupOf([take('v', { limit: window })]),
          groupOf([take('v', { hits: 2, limit: window }), take('w', { limit: window })]),
          groupOf([take('v', { limit: window })]),
        ],
      })),
    },
    {
      name: 'up to the last hit, over it, far over it, for ever over it, and after a while again',
      calls: PLAIN.flatMap((on) => {
        const key = on.algorithm;
        return inTurn(
          ...(
            [
              [0, 3],
              [1, 2],
              [1, 1],
              [2, 1],
              [3, 4],
              [3, 9],
              [400_000, 1],
              [999_999, 1],
              [1_300_000, 2],
              [9_000_000, 3],
            ] as const
          ).map(([at, hits]) => [at, take(key, { hits, limit: on })] as const),
        );
      }),
    },
    {
      name: 'groups of several takes: all fit, the first, the second, the last does not',
      calls: inTurn(
        [0, ...PLAIN.map((on) => take(on.algorithm, { hits: 1, limit: on }))],
        ...PLAIN.map((over) => [5, ...PLAIN.map((on) => take(on.algorithm, { hits: on === over ? 4 : 1, limit: on }))] as const),
        [300_000, ...PLAIN.map((on) => take(on.algorithm, { hits: 1, limit: on }))],
        [2_000_000, take('fresh', { limit: PLAIN[0]! }), ...PLAIN.map((on) => take(on.algorithm, { hits: 2, limit: on }))],
      ),
    },
    {
      name: 'groups of one run share buckets: each finds what the ones before left',
      calls: PLAIN.flatMap((on, i) => {
        const shared = (hits: number, own: string) =>
          groupOf([take(`${own} ${i}`, { limit: on }), take(`shared ${i}`, { hits, limit: on })]);
        return [
          ...atOnce(shared(1, 'a'), shared(1, 'b'), shared(3, 'c'), shared(1, 'd'), shared(1, 'a')),
          ...atOnce(shared(1, 'c'), shared(1, 'a')),
        ];
      }),
    },
    {
      name: 'runs of other shapes and back, and folds among them',
      calls: PLAIN.flatMap((on, i) => {
        const one = (key: string, hits = 1) => groupOf([take(`${key} ${i}`, { hits, limit: on })]);
        const two = (key: string) => groupOf([take(`${key} ${i}`, { limit: on }), take(`other ${key} ${i}`, { limit: on })]);
        const [hot, warm, late] = [two('hot'), one('warm', 2), one('late')];
        return [
          ...atOnce(one('a'), two('b'), one('c'), one('d', 2), two('e'), one('f')),
          ...atOnce(one('a'), hot, hot, warm, warm, warm, hot, hot, hot, one('hot'), two('b')),
          ...atOnce(hot, hot, one('other hot')),
          // A fold on a bucket that an earlier group of the run has charged: it is written once.
          ...atOnce(one('late'), late, late),
        ];
      }),
    },
    {
      name: 'an odd bucket in the last of several runs: it alone is not decided in one step',
      unreadable: { list: null },
      calls: PLAIN.flatMap((on, i) => {
        const one = (key: string, hits = 1) => groupOf([take(`${key} ${i}`, { hits, limit: on })]);
        const two = (key: string) => groupOf([take(`${key} ${i}`, { limit: on }), take(`other ${key} ${i}`, { hits: 2, limit: on })]);
        const [hot, odd] = [two('hot'), groupOf([take('list', { limit: on })])];
        return [
          ...atOnce(one('a'), one('b'), two('c'), two('d'), one('e'), hot, hot, hot, two('f'), one('g', 3), odd),
          ...atOnce(one('a'), two('c'), one('b'), one('e'), odd, two('d')),
        ];
      }),
    },
    {
      name: 'a group and a fold whose last bucket is unreadable, after takes that fit',
      unreadable: { list: null },
      calls: PLAIN.flatMap((on, i) => {
        const list = take('list', { limit: on });
        const fold = groupOf([take(`a ${i}`, { limit: on }), list]);
        return [...atOnce(groupOf([take(`a ${i}`, { limit: on }), take(`b ${i}`, { limit: on }), list])), ...atOnce(fold, fold)];
      }),
    },
    {
      name: 'a TTL with a fraction of a millisecond is rounded up',
      calls: [1, 250, 500, 750, 999].flatMap((us) =>
        PLAIN.map((on, i) => ({ nowUs: START_US + us, groups: [groupOf([take(`a ${i} ${us}`, { limit: on })])] })),
      ),
    },
    {
      name: 'two groups of one shape on one bucket, and no other group',
      calls: PLAIN.flatMap((on, i) => {
        const one = () => groupOf([take(`a ${i}`, { limit: on })]);
        return atOnce(one(), one());
      }),
    },
    {
      name: 'two limits on one bucket in one run',
      calls: [
        ...atOnce(groupOf([take('a', { hits: 3, limit: PLAIN[0]! })])),
        { nowUs: START_US + 300_000, groups: [groupOf([take('a', { limit: PLAIN[0]! })]), groupOf([take('a', { limit: other })])] },
        {
          nowUs: START_US + 300_000,
          groups: [
            groupOf([take('w', { limit: PLAIN[2]! })]),
            groupOf([take('w', { limit: { ...PLAIN[2]!, requestsPerUnit: 1, capacity: 1 } })]),
          ],
        },
      ],
    },
    {
      name: 'a clock that steps back, under takes that fit and that do not',
      calls: PLAIN.flatMap((on) =>
        inTurn(
          [SECOND_US, take(on.algorithm, { hits: 2, limit: on })],
          [SECOND_US - 1, take(on.algorithm, { limit: on })],
          [0, take(on.algorithm, { hits: 3, limit: on })],
          [0, take(on.algorithm, { hits: 9, limit: on }), take(`beside ${on.algorithm}`, { limit: on })],
        ),
      ),
    },
    {
      name: 'in debt',
      calls: PLAIN.flatMap((on) => {
        const key = on.algorithm;
        return inTurn(
          [0, take(key, { hits: 9, limit: on, overdraftMax: 9 })],
          [0, take(key, { limit: on })],
          [100_000, take(key, { hits: 5, limit: on })],
          [200_000, take(key, { limit: on }), take(`beside ${key}`, { limit: on })],
        );
      }),
    },
    {
      name: 'a list, a text, a bucket of another algorithm under a key, alone and beside others',
      unreadable: { list: null, text: 'no bucket', long: '1 2 3' },
      calls: ['list', 'text', 'long'].flatMap((key) => [
        ...inTurn([0, take(key, { limit: PLAIN[2]! })], [0, take(`beside ${key}`, { limit: PLAIN[2]! }), take(key, { limit: PLAIN[2]! })]),
        ...atOnce(groupOf([take(key, { limit: PLAIN[2]! })]), groupOf([take(`alone ${key}`, { limit: PLAIN[2]! })])),
      ]),
    },
    {
      name: 'more hits in a window than one number holds beside its start, and the last number that is exact',
      calls: [1, 2].flatMap((beside) => {
        const short = limit('fixed_window', 100, 3);
        const groups = (key: string, hits: number) =>
          Array.from({ length: beside }, (_, i) => groupOf([take(i === 0 ? key : `${key} ${i}`, { hits, limit: short })]));
        const named = (key: string) => `${key} beside ${beside}`;
        return [
          ...[3, 2, 1, 2, 1].map((hits) => ({ nowUs: START_US, groups: groups(named('short'), hits) })),
          { nowUs: START_US + 3, groups: groups(named('short'), 1) },
          // Denied with more hits used than the window has microseconds.
          ...[3, 99].map((hits) => ({ nowUs: START_US + 6, groups: groups(named('short'), hits) })),
          ...[1, 100, 1].map((hits) => ({ nowUs: 2 ** 52 - 1, groups: groups(named('late'), hits) })),
        ];
      }),
    },
    {
      name: 'a number beyond the exact ones in the last window, and beside another bucket',
      unreadable: { late: BEYOND_EXACT },
      calls: [['late'], ['late', 'beside']].map((keys) => ({
        nowUs: 2 ** 52 - 1,
        groups: keys.map((key) => groupOf([take(key, { limit: limit('fixed_window', 100, 3) })])),
      })),
    },
    {
      name: 'the number of an unused window, and of the first one of all',
      stored: Object.fromEntries(
        [1, 2].flatMap((beside) => [
          [`first ${beside}`, { index: 0, used: 0 }],
          [`now ${beside}`, { index: START_US / SECOND_US, used: 0 }],
          [`next ${beside}`, { index: START_US / SECOND_US + 1, used: 0 }],
        ]),
      ),
      calls: ['first', 'now', 'next'].flatMap((key) =>
        [1, 2].map((beside) => ({
          nowUs: START_US,
          groups: Array.from({ length: beside }, (_, i) =>
            groupOf([take(i === 0 ? `${key} ${beside}` : `${key} ${i} beside`, { limit: PLAIN[2]! })]),
          ),
        })),
      ),
    },
    {
      name: 'the number of the first window of all, under a take that does not fit',
      stored: { first: { index: 0, used: 0 } },
      calls: inTurn([0, take('first', { hits: 5, limit: PLAIN[2]! })]),
    },
    {
      name: 'a fold that reaches a level of forty bits and one',
      calls: [2 ** 20 - 2, 2 ** 20].flatMap((hits) => {
        const group = groupOf([take(`fold ${hits}`, { hits: hits / 2, limit: limit('token_bucket', 2 ** 21, 2 ** 20) })]);
        return atOnce(group, group);
      }),
    },
    {
      name: 'levels of forty bits, and of one bit more',
      calls: [1, 2].flatMap((beside) =>
        // (2^20 - 1) * (2^20 + 1) is 2^40 - 1.
        (
          [
            [2 ** 20 - 1, 2 ** 20 + 1],
            [2 ** 20, 2 ** 20],
          ] as const
        ).flatMap(([hits, windowUs]) => {
          const on = limit('token_bucket', 2 ** 21, windowUs);
          const groups = (asked: number) =>
            Array.from({ length: beside }, (_, i) => groupOf([take(`${hits} ${beside} ${i}`, { hits: asked, limit: on })]));
          return [
            { nowUs: START_US, groups: groups(hits) },
            { nowUs: START_US + 1, groups: groups(1) },
          ];
        }),
      ),
    },
    {
      // 441650591 * 20394401 is 2^53 - 1.
      name: 'a level that is the last exact number: full, with room for one more, a second later, one hit before it',
      stored: Object.fromEntries(
        [1, 2].flatMap((beside) =>
          [
            ['full', 0],
            ['room', 0],
            ['later', SECOND_US],
            ['one', 0],
          ].map(([key, ageUs]) => [
            `${key} ${beside}`,
            { used: key === 'one' ? 441_650_590 : 441_650_591, rest: 0, atUs: START_US - Number(ageUs) },
          ]),
        ),
      ),
      calls: ['full', 'room', 'later', 'one'].flatMap((key) =>
        [1, 2].map((beside) => {
          const on = limit('token_bucket', 441_650_591, 20_394_401, key === 'room' ? 441_650_592 : undefined);
          return {
            nowUs: START_US,
            groups: Array.from({ length: beside }, (_, i) =>
              groupOf([take(i === 0 ? `${key} ${beside}` : `${key} ${i} beside`, { limit: on })]),
            ),
          };
        }),
      ),
    },
    {
      name: 'buckets with the last exact numbers, in bytes and as text',
      stored: {
        part: { used: 2, rest: SECOND_US - 1, atUs: START_US },
        used: { used: 2 ** 53 - 1, rest: 0, atUs: START_US },
        rest: { used: 2 ** 40, rest: SECOND_US - 1, atUs: START_US },
        time: { used: 2 ** 40, rest: 0, atUs: 2 ** 53 - 1 },
        index: { index: 2 ** 53 - 1, used: 1 },
        hits: { index: START_US / SECOND_US, used: 2 ** 53 - 1 },
      },
      calls: [
        ...['part', 'used', 'rest', 'time'].flatMap((key) =>
          inTurn([0, take(key, { limit: limit('token_bucket', UINT32_MAX, SECOND_US) })]),
        ),
        ...['index', 'hits'].flatMap((key) => inTurn([0, take(key, { limit: limit('fixed_window', UINT32_MAX, SECOND_US) })])),
      ],
    },
    {
      name: 'a bucket from the last exact time',
      stored: { a: { used: 1, rest: 0, atUs: 2 ** 53 - 1 } },
      calls: inTurn([0, take('a', { hits: 9, limit: PLAIN[0]! })], [0, take('a', { limit: PLAIN[0]! })]),
    },
    {
      name: 'a bucket that needs over a hundred years, by less than its window',
      calls: inTurn(
        [0, take('a', { hits: 3, limit: limit('token_bucket', 1, 50 * YEAR_US, 4) })],
        [0, take('b', { hits: 2, limit: limit('token_bucket', 1, 50 * YEAR_US, 4) })],
      ),
    },
    {
      name: 'takes that fit to the last hit in a group that is denied',
      calls: inTurn(
        [0, ...PLAIN.map((on) => take(on.algorithm, { hits: on.capacity, limit: on })), take('over', { hits: 5, limit: PLAIN[0]! })],
        [0, take('over', { hits: 4, limit: PLAIN[0]! })],
        [0, ...PLAIN.map((on) => take(on.algorithm, { hits: on.capacity, limit: on })), take('over', { limit: PLAIN[0]! })],
      ),
    },
    {
      name: 'a bucket that was full a moment ago, and one that is full now',
      calls: [1, 2].flatMap((beside) =>
        [1_000_001, 1_000_000, 999_999].flatMap((afterUs) => {
          const one = limit('token_bucket', 1, SECOND_US, 3);
          const groups = (key: string) =>
            Array.from({ length: beside }, (_, i) => groupOf([take(`${key} ${afterUs} ${beside} ${i}`, { limit: one })]));
          return [0, afterUs].map((us) => ({ nowUs: START_US + us, groups: groups('a') }));
        }),
      ),
    },
    {
      name: 'a number of a take that is the window of the one before',
      calls: inTurn(
        [
          0,
          take('a', { limit: limit('fixed_window', SECOND_US, SECOND_US) }),
          take('b', { limit: limit('fixed_window', 3, 60 * SECOND_US) }),
        ],
        [
          9,
          take('c', { limit: limit('fixed_window', 3, SECOND_US) }),
          take('d', { limit: limit('fixed_window', SECOND_US, 60 * SECOND_US) }),
        ],
        [
          99,
          take('e', { limit: limit('fixed_window', 3, SECOND_US) }),
          take('f', { hits: SECOND_US, limit: limit('token_bucket', 3 * SECOND_US, 60 * SECOND_US) }),
        ],
      ),
    },
    {
      name: 'a run that has as many arguments as one group of three takes would',
      calls: atOnce(
        groupOf([take('a', { limit: PLAIN[1]! })]),
        groupOf([take('b', { limit: limit('leaky_bucket', 2, SECOND_US, 3) })]),
        groupOf([take('c', { limit: PLAIN[1]! })]),
      ),
    },
    {
      name: 'texts that only look like a bucket',
      unreadable: { a: 'x1 2', b: '1 2x', c: 'x1 2 3', d: '1 2 3x' },
      calls: (['a', 'b', 'c', 'd'] as const).flatMap((key, i) => inTurn([0, take(key, { limit: i < 2 ? PLAIN[2]! : PLAIN[0]! })])),
    },
    {
      name: 'a bucket that has just been refilled to the hit keeps nothing of a further one',
      calls: [
        ...inTurn([0, take('a', { hits: 3, limit: PLAIN[0]! })]),
        { nowUs: START_US + 800_000, groups: [groupOf([take('a', { limit: PLAIN[0]! })]), groupOf([take('b', { limit: PLAIN[0]! })])] },
      ],
    },
    {
      name: 'a refill and a time to full of over 2^53 parts, where a double would be one off',
      stored: {
        refill: { used: 150_000, rest: 0, atUs: START_US - 51_840_000_001 },
        wait: { used: 114_213, rest: 905_403_227, atUs: START_US },
      },
      calls: inTurn(
        [0, take('refill', { limit: limit('token_bucket', 200_001, DAY_US) })],
        [0, take('wait', { limit: limit('token_bucket', 200_001, DAY_US) })],
      ),
    },
    {
      name: 'limits and waits beyond 2^53 parts',
      calls: inTurn(
        [0, take('a', { hits: 4_000_000, limit: limit('token_bucket', 4_000_000, 30 * DAY_US) })],
        [3 * DAY_US, take('a', { hits: 9, limit: limit('token_bucket', 4_000_000, 30 * DAY_US) })],
        [4 * DAY_US, take('a', { hits: 4_000_000, limit: limit('token_bucket', 4_000_000, 30 * DAY_US) })],
      ),
    },
  ];
}

function checks(): readonly Scenario[] {
  return [
    {
      name: 'a check of a bucket with none, one and two left, in debt, of a limit of 0',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const three = limit(algorithm, 3, SECOND_US);
        return [3, 2, 1, 5].flatMap((hits) => {
          const key = `${algorithm} ${hits}`;
          return inTurn(
            [7, take(key, { hits, limit: three, overdraftMax: 4 })],
            [7, take(key, { hits: 0, limit: three })],
            [8, take(key, { hits: 0, limit: limit(algorithm, 0, SECOND_US) })],
          );
        });
      }),
    },
    {
      name: 'a check denies the group',
      calls: inTurn(
        [0, take('a', { hits: 10 })],
        [0, take('a', { hits: 0 }), take('b')],
        [0, take('b', { hits: 0 }), take('a', { mode: 'shadow' })],
      ),
    },
    {
      name: 'a check beside hits on its bucket asks for one',
      calls: inTurn([0, take('a', { hits: 11 }), take('a', { hits: 0 })], [0, take('a', { hits: 10 }), take('a', { hits: 0 })]),
    },
    {
      name: 'a peek always fits, quota or not',
      calls: inTurn(
        [0, take('a', { hits: 10 })],
        [0, take('a', { hits: 0, peek: true })],
        [0, take('a', { hits: 0, peek: true, mode: 'quota' }), take('b', { hits: 11, mode: 'quota' })],
      ),
    },
    {
      name: 'a check and a peek in a fold',
      calls: [0, 9, 10].flatMap((used) => {
        const group = groupOf([take(`full ${used}`, { hits: 0 }), take(`other ${used}`), take(`seen ${used}`, { hits: 0, peek: true })]);
        const before = used === 0 ? [] : inTurn([0, take(`full ${used}`, { hits: used }), take(`seen ${used}`, { hits: 10 })]);
        return [...before, ...atOnce(...Array.from({ length: 12 }, () => group))];
      }),
    },
  ];
}

function reports(): readonly Scenario[] {
  const report = (key: string, hits: number, parts: Partial<Take> = {}) => take(key, { hits, overdraftMax: 10, ...parts });
  return [
    {
      name: 'a report that fits, one that does not, one that is cut off, one of which nothing is charged',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = { limit: limit(algorithm, 4, SECOND_US), overdraftMax: 3 };
        return inTurn(
          [0, report(algorithm, 3, on)],
          [1, report(algorithm, 3, on)],
          [2, report(algorithm, 2, on)],
          [3, report(algorithm, 1, on)],
          [4, report(algorithm, -2, on)],
          [5, report(algorithm, -9, on)],
          [6, report(algorithm, -1, on)],
        );
      }),
    },
    {
      name: 'the reports of a denied group are charged, its admissions and refunds are not',
      calls: inTurn(
        [0, take('c', { hits: 4 })],
        [0, report('a', 4), take('b', { hits: 11 }), take('c', { hits: -2 }), take('d', { hits: 2 })],
        [0, take('b')],
      ),
    },
    {
      name: 'the refund of a report is applied to a denied group',
      calls: inTurn(
        [0, take('a', { hits: 5 }), take('full', { hits: 10 })],
        [0, report('a', -3), take('full')],
        [0, report('unused', -3), take('full')],
      ),
    },
    {
      name: 'the first of the takes on a bucket is a report, or the last, or none',
      calls: inTurn(
        [0, report('a', 3), take('a', { hits: 4 })],
        [0, take('b', { hits: 4 }), report('b', 3)],
        [0, report('c', 8), take('c', { hits: 4 })],
        [0, take('d', { hits: 4 }), report('d', 8)],
        [0, report('a', -1), take('a', { hits: 2 }), report('a', 2)],
      ),
    },
    {
      name: 'two reports on one bucket, the second of which is cut off',
      calls: inTurn(
        [0, report('a', 8, { overdraftMax: 2 }), report('a', 8, { overdraftMax: 2 })],
        [0, report('b', 8, { overdraftMax: 1 }), report('b', 8, { overdraftMax: 5 })],
      ),
    },
    {
      name: 'a refund by report and one of an admission on one bucket',
      calls: inTurn(
        [0, take('a', { hits: 8 })],
        [0, report('a', -2), take('a', { hits: -3 })],
        [0, take('a', { hits: -1 }), report('a', -1), take('full', { hits: 11 })],
      ),
    },
    {
      name: 'a dry report',
      calls: [
        ...inTurn([0, take('a', { hits: 8 })]),
        ...atOnce(
          groupOf([report('a', 4)], { dry: true }),
          groupOf([report('a', 4), take('b')], { dry: true }),
          groupOf([report('a', 30)]),
          groupOf([report('a', 4)], { dry: true }),
        ),
      ],
    },
    {
      name: 'a report in shadow mode, in quota mode, under SHADOW_MODE',
      calls: [
        ...inTurn(
          [0, report('a', 12, { mode: 'shadow' }), take('b')],
          [0, report('c', 12, { mode: 'quota' }), take('d', { mode: 'quota' })],
          [0, report('c', 2, { mode: 'quota' }), take('b')],
        ),
        ...atOnce(groupOf([report('e', 12), take('f', { hits: 11 })], { shadow: true })),
      ],
    },
    {
      name: 'reports and admissions of one shape in one run, each on what the last left',
      calls: atOnce(...[6, 6, 6].map((hits) => groupOf([report('a', hits), take('b', { hits })])), groupOf([take('a', { hits: 0 })])),
    },
    {
      name: 'a report on a calendar window',
      calls: atOnce(
        groupOf([
          report('a', 4, { limit: { ...THREE_PER_MINUTE, edgesUs: [START_US - 5, START_US, START_US + 9, START_US + 20] } }),
          take('b'),
        ]),
      ),
    },
    {
      name: 'adjustments with an overdraft',
      calls: [
        adjustAt(
          0,
          adjustment('a', { hits: 14, overdraftMax: 3 }),
          adjustment('b', { hits: 14, overdraftMax: 9 }),
          adjustment('c', { hits: 14 }),
        ),
        adjustAt(0, adjustment('a', { hits: 1, overdraftMax: 3 }), adjustment('a', { hits: 1, overdraftMax: 4 })),
      ],
    },
  ];
}

/** An id that is as many times the same byte as it has bytes. */
function idOf(byte: string): string {
  return byte.repeat(8);
}

function slots(): readonly Scenario[] {
  const on = (size: number, holdUs = SECOND_US) => limit('in_flight', size, holdUs);
  const begin = (key: string, slotId: string, parts: Partial<Take> = {}) => take(key, { limit: on(3), slotId, ...parts });
  const end = (key: string, slotId: string, parts: Partial<Take> = {}) => begin(key, slotId, { hits: -1, overdraftMax: 0, ...parts });
  const [x, y, z, w] = ['aa', 'bb', 'cc', 'dd'].map(idOf) as [string, string, string, string];
  const timeBytes = START_US.toString(16).padStart(14, '0');
  return [
    {
      name: 'taken by id until none is left, taken again, released in each order',
      calls: [
        [x, y, z],
        [z, y, x],
        [y, x, z],
        [w, y, y],
      ].flatMap((ends, i) =>
        inTurn(
          ...[x, y, x, z, w, y].map((id, at) => [at, begin(`${i}`, id)] as const),
          ...ends.map((id, at) => [10 + at, end(`${i}`, id)] as const),
          [20, begin(`${i}`, w)],
          [21, take(`${i}`, { limit: on(3), hits: 2 })],
        ),
      ),
    },
    {
      name: 'without ids: some, more than are left, releases of some, of all, of more',
      calls: [1, 2, 3, 4].flatMap((released) =>
        inTurn(
          [0, take(`${released}`, { limit: on(3), hits: 2 })],
          [5, take(`${released}`, { limit: on(3), hits: 2 })],
          [5, take(`${released}`, { limit: on(3) })],
          [6, take(`${released}`, { limit: on(3), hits: -released, overdraftMax: 0 })],
          [7, take(`${released}`, { limit: on(3), hits: 3 })],
        ),
      ),
    },
    {
      name: 'an id whose bytes lie across time and id of a slot is none, before its own slot and without one',
      calls: [`${timeBytes}aa`, `${timeBytes.slice(2)}aaaa`, `aa${timeBytes}`, `aaaa${timeBytes.slice(0, 12)}`].flatMap((crossing, i) =>
        inTurn(
          [0, begin(`${i}`, x)],
          [0, begin(`${i}`, y)],
          [0, end(`${i}`, crossing)],
          [0, begin(`${i}`, crossing)],
          [1, begin(`${i}`, crossing)],
          [2, end(`${i}`, crossing)],
        ),
      ),
    },
    {
      // The last byte of the time is that of the id: the same bytes are found one place before the slot's own id.
      name: 'an id whose bytes begin one byte before it',
      calls: inTurn([0xaa - (START_US % 256), begin('a', x)], [300, begin('a', x)], [301, end('a', x)]),
    },
    {
      name: 'lapsed to the microsecond, by who looks',
      calls: [SECOND_US - 1, SECOND_US, SECOND_US + 1].flatMap((at) =>
        inTurn(
          [0, begin(`${at}`, x)],
          [1, begin(`${at}`, y)],
          [at, take(`${at}`, { limit: on(3), hits: 0 })],
          [at, begin(`${at}`, z)],
          [at, take(`${at}`, { limit: on(3, 2 * SECOND_US), hits: 3, mode: 'shadow' })],
        ),
      ),
    },
    {
      name: 'from after now: held, looked at, brought to now by what is denied, taken, released',
      calls: [x, y, w].flatMap((id, i) => [
        ...inTurn([-9, begin(`${i}`, z)], [0, begin(`${i}`, x)], [1, begin(`${i}`, y)]),
        ...[begin(`${i}`, id), take(`${i}`, { limit: on(3), hits: 0 }), end(`${i}`, id), begin(`${i}`, id)].map((each, at) => ({
          nowUs: START_US - 5 + at,
          groups: [groupOf([each])],
        })),
      ]),
    },
    {
      name: 'two takes of one id, and of two, beside each other and beside hits without an id',
      calls: inTurn(
        [0, begin('a', x), begin('a', x)],
        [1, begin('a', y), begin('a', z), begin('a', w)],
        [1, begin('a', y), begin('a', z), begin('a', y)],
        [2, begin('b', x), take('b', { limit: on(3), hits: 2 })],
        [2, begin('c', x), take('c', { limit: on(3), hits: 3 })],
      ),
    },
    {
      name: 'taken and released in one group, on one bucket and on two',
      calls: inTurn(
        [0, begin('a', x)],
        [1, end('a', x), begin('a', y), begin('b', x)],
        [2, begin('a', x), end('a', x), end('b', x), end('b', x)],
      ),
    },
    {
      name: 'ids of groups of one shape, each with its own, between groups without',
      calls: atOnce(
        groupOf([begin('a', x)]),
        groupOf([begin('a', y)]),
        groupOf([take('b')]),
        groupOf([begin('a', z), begin('c', x)]),
        groupOf([begin('a', x), begin('c', y)]),
        groupOf([end('a', y)]),
        groupOf([end('a', x)]),
        groupOf([take('b'), begin('c', w)]),
      ),
    },
    {
      name: 'the first take on a bucket has no id, or is a peek, or is denied',
      calls: inTurn(
        [0, take('a', { limit: on(3), hits: 1 }), begin('a', x)],
        [0, take('a', { limit: on(3), hits: 0, peek: true }), begin('a', y)],
        [0, take('a', { limit: on(3), hits: 1, mode: 'shadow' }), begin('a', z, { mode: 'shadow' })],
      ),
    },
    {
      name: 'a release of a denied group, and of a bucket that nobody has used',
      calls: inTurn(
        [0, begin('a', x), take('full', { hits: 10 })],
        [0, end('a', x), take('full'), begin('b', y)],
        [0, end('a', x), take('full')],
      ),
    },
    {
      name: 'a plain refund, by id and without, of an allowed group and of a denied one',
      calls: inTurn(
        [0, begin('a', x), begin('a', y), take('full', { hits: 10 })],
        [0, begin('a', x, { hits: -1 }), take('full')],
        [0, begin('a', x, { hits: -1 })],
        [0, take('a', { limit: on(3), hits: -1 })],
      ),
    },
    {
      name: 'a dry take by id, one that has its slot, and a dry release',
      calls: atOnce(
        groupOf([begin('a', x)]),
        groupOf([begin('a', y)], { dry: true }),
        groupOf([begin('a', x)], { dry: true }),
        groupOf([end('a', x)], { dry: true }),
        groupOf([take('a', { limit: on(3), hits: 3 })], { dry: true }),
      ),
    },
    {
      name: 'shadow and quota takes by id that fit and that do not',
      calls: inTurn(
        [0, take('a', { limit: on(3), hits: 3 })],
        [0, begin('a', x, { mode: 'shadow' }), begin('b', x)],
        [0, begin('a', x, { mode: 'quota' }), begin('b', y, { mode: 'quota' })],
        [0, begin('a', x, { mode: 'quota' })],
      ),
    },
    {
      name: 'checks, with an id that has its slot and one that has none',
      calls: inTurn(
        [0, begin('a', x, { hits: 0 })],
        [0, begin('a', x), begin('a', y), begin('a', z)],
        [0, begin('a', x, { hits: 0 })],
        [0, begin('a', w, { hits: 0 })],
        [0, begin('a', x, { hits: 0 }), take('b')],
      ),
    },
    {
      name: 'a lowered limit, and one of 0',
      calls: inTurn(
        [0, begin('a', x), begin('a', y), begin('a', z)],
        [1, begin('a', w, { limit: on(2) })],
        [1, begin('a', x, { limit: on(2) })],
        [2, begin('a', w, { limit: on(0) })],
        [3, take('none', { limit: on(0) })],
        [3, take('none', { limit: on(0), hits: 0 })],
        [3, end('none', x, { limit: on(0) })],
      ),
    },
    {
      name: 'what is no bucket of slots',
      unreadable: { short: 'fourteen bytes', long: 'sixteen bytes 16', one: 'x' },
      calls: inTurn([0, begin('short', x)], [0, take('long', { limit: on(3) })], [0, begin('one', x)]),
    },
    {
      name: 'denied in the microsecond of the latest slot',
      calls: inTurn([0, take('a', { limit: on(3), hits: 3 })], [0, take('a', { limit: on(3) })], [0, begin('a', x)]),
    },
    {
      name: 'hits that never fit a bucket that another group of the run has emptied',
      calls: atOnce(groupOf([begin('a', x)]), groupOf([end('a', x)]), groupOf([take('a', { limit: on(3), hits: 4 })])),
    },
    {
      name: 'a whole bucket of slots',
      calls: inTurn(
        [0, take('a', { limit: on(100), hits: 99 })],
        [1, begin('a', x, { limit: on(100) })],
        [2, begin('a', y, { limit: on(100) })],
        [3, end('a', x, { limit: on(100) })],
        [4, begin('a', y, { limit: on(100) })],
      ),
    },
  ];
}

function adjustedSlots(): readonly Scenario[] {
  const on = limit('in_flight', 5, SECOND_US);
  const [x, y] = [idOf('aa'), idOf('bb')];
  const filled = (key: string) =>
    inTurn([0, take(key, { limit: on, slotId: x })], [3, take(key, { limit: on, hits: 2 }), take(key, { limit: on, slotId: y })]);
  return [
    {
      name: 'given back by id and without, at its time and beside it',
      calls: [
        [x, 0],
        [x, 3],
        [y, 3],
        [y, 0],
        [undefined, 3],
        [undefined, 0],
        [undefined, 2],
        [undefined, 4],
      ].flatMap(([slotId, at], i) =>
        [1, 2, 3].flatMap((hits) => {
          const key = `${i} ${hits}`;
          const given = adjustment(key, {
            limit: on,
            hits: -hits,
            takenAtUs: START_US + Number(at),
            ...(slotId !== undefined && { slotId: String(slotId) }),
          });
          return [...filled(key), adjustAt(5, given), adjustAt(6, given), ...inTurn([7, take(key, { limit: on, slotId: y })])];
        }),
      ),
    },
    {
      name: 'adjustments with and without an id in one run, beside others',
      calls: [
        ...filled('a'),
        adjustAt(
          5,
          adjustment('b'),
          adjustment('a', { limit: on, hits: -1, takenAtUs: START_US, slotId: x }),
          adjustment('a', { limit: on, hits: 9 }),
          adjustment('b', { hits: -1, takenAtUs: START_US + 5 }),
          adjustment('a', { limit: on, hits: -1, takenAtUs: START_US + 3, slotId: y }),
        ),
      ],
    },
    {
      name: 'given back behind a slot of a microsecond before, and behind one other of its own',
      calls: [
        ...inTurn([2, take('a', { limit: on })], [3, take('a', { limit: on }), take('a', { limit: on, slotId: y })]),
        adjustAt(5, adjustment('a', { limit: on, hits: -1, takenAtUs: START_US + 3, slotId: y })),
        adjustAt(6, adjustment('a', { limit: on, hits: -1, takenAtUs: START_US + 3 })),
      ],
    },
    {
      name: 'all given back: nothing is left',
      calls: [
        ...inTurn([0, take('a', { limit: on, slotId: x })]),
        adjustAt(1, adjustment('a', { limit: on, hits: -1, takenAtUs: START_US, slotId: x })),
      ],
    },
  ];
}

function decisions(): readonly Scenario[] {
  const small = { ...TEN_PER_SECOND, requestsPerUnit: 3, capacity: 3 };
  const over = take('a', { hits: 11, mode: 'quota' });
  return [
    { name: 'a group without takes', calls: atOnce(groupOf([])) },
    {
      name: 'one after another',
      calls: inTurn(
        [0, take('a', { hits: 4 }), take('b', { limit: THREE_PER_MINUTE })],
        [50_000, take('a', { hits: 7 })],
        [SECOND_US, take('a')],
      ),
    },
    {
      name: 'two that fit alone do not fit together',
      calls: inTurn([0, take('a', { hits: 6 }), take('a', { hits: 5 })], [0, take('a', { hits: 6 }), take('a', { hits: 4 })]),
    },
    {
      name: 'each is judged by its own limit',
      calls: inTurn([0, take('a', { hits: 2 }), take('a', { hits: 2, limit: small, mode: 'shadow' })]),
    },
    {
      name: 'the state moves on at the smallest limit, whichever comes first',
      calls: inTurn(
        [0, take('a', { hits: 3 }), take('b', { hits: 3 })],
        [
          500_000,
          take('a', { hits: 1, limit: small, mode: 'shadow' }),
          take('a'),
          take('b'),
          take('b', { hits: 1, limit: small, mode: 'shadow' }),
        ],
      ),
    },
    {
      name: 'of limits with one rate the first moves the state on',
      calls: inTurn([0, take('a', { hits: 5 })], [50_000, take('a'), take('a', { limit: { ...TEN_PER_SECOND, windowUs: 2 * SECOND_US } })]),
    },
    {
      name: 'a refund comes after the charge',
      calls: inTurn([0, take('a', { hits: -2 }), take('a', { hits: 10 }), take('a', { hits: 0 })]),
    },
    {
      name: 'refunds beside their charge and after it: of all but one, of all, of more',
      calls: ALGORITHMS.flatMap((algorithm) =>
        [2, 3, 4].flatMap((hits) => {
          const [beside, after] = [`${algorithm} beside ${hits}`, `${algorithm} after ${hits}`];
          const [charge, refund] = [
            { hits: 3, limit: LIMITS[algorithm] },
            { hits: -hits, limit: LIMITS[algorithm] },
          ];
          return inTurn(
            [0, take(beside, charge), take(beside, refund)],
            [0, take(after, charge)],
            [0, take(after, refund)],
            [0, take(after, refund)],
          );
        }),
      ),
    },
    {
      name: 'two refunds on one bucket',
      calls: inTurn([0, take('a', { hits: 9 })], [0, take('a', { hits: -2 }), take('a', { hits: -3 })]),
    },
    { name: 'an enforced take denies', calls: inTurn([0, take('a'), take('b', { hits: 11 })], [0, take('a')]) },
    {
      name: 'a denied group of two takes says when its own buckets are full, not those of the group before it that had its shape',
      calls: atOnce(...['c', 'c', 'a', 'c'].map((key) => groupOf([take(key, { hits: 4 }), take(`${key} too`, { hits: 1 })]))),
    },
    { name: 'a shadow take denies nothing', calls: inTurn([0, take('a', { hits: 11, mode: 'shadow' }), take('b')]) },
    { name: 'one quota descriptor over of two', calls: inTurn([0, over, take('b', { mode: 'quota' })]) },
    { name: 'all quota descriptors over', calls: inTurn([0, over, take('b', { hits: 11, mode: 'quota' }), take('c')]) },
    {
      name: 'a quota descriptor is over with its first limit',
      calls: inTurn([0, { ...over, descriptor: 7 }, take('b', { mode: 'quota', descriptor: 7 })]),
    },
    {
      name: 'a quota descriptor is over with its last limit',
      calls: inTurn([0, take('b', { mode: 'quota', descriptor: 7 }), { ...over, descriptor: 7 }]),
    },
    { name: 'a quota peek counts as fitting', calls: inTurn([0, over, take('b', { hits: 0, mode: 'quota' })]) },
    {
      name: 'flags: shadow, quota always fits, dry, and each with each',
      calls: [false, true].flatMap((shadow) =>
        [false, true].flatMap((quotaAlwaysFits) =>
          [{}, { dry: true } as const].flatMap((dry) => [
            ...atOnce(groupOf([over], { shadow, quotaAlwaysFits, ...dry })),
            ...atOnce(groupOf([take('b'), take('c', { hits: 11 })], { shadow, quotaAlwaysFits, ...dry })),
          ]),
        ),
      ),
    },
    {
      name: 'a dry group leaves its buckets to the next one of the run',
      calls: atOnce(
        groupOf([take('a', { hits: 10 }), take('b', { hits: -1 })], { dry: true }),
        groupOf([take('a', { hits: 10 })]),
        groupOf([take('a')], { dry: true }),
      ),
    },
    {
      name: 'a dry group brings a bucket from after now to now, and takes nothing',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = { limit: LIMITS[algorithm] };
        return [
          ...inTurn([0, take(algorithm, { ...on, hits: 2 })]),
          { nowUs: START_US - 3_600_000_000, groups: [groupOf([take(algorithm, on)], { dry: true })] },
        ];
      }),
    },
    {
      name: 'groups of one run, each on what the last left',
      calls: atOnce(
        groupOf([take('a', { hits: 6 }), take('b')]),
        groupOf([take('a', { hits: 6 })]),
        groupOf([]),
        groupOf([take('a', { hits: 4 })]),
      ),
    },
    {
      name: 'a group that is denied, after one of its shape that is not',
      calls: [...inTurn([0, take('b', { hits: 8 })]), ...atOnce(groupOf([take('a', { hits: 4 })]), groupOf([take('b', { hits: 4 })]))],
    },
    { name: 'a charge of one group, taken back by the next', calls: atOnce(groupOf([take('a')]), groupOf([take('a', { hits: -1 })])) },
    {
      name: 'a charge that a later group of the run denies keeps its TTL',
      calls: atOnce(groupOf([take('a', { hits: 5 })]), groupOf([take('a', { hits: 6 })]), groupOf([take('a', { hits: 0 })])),
    },
    {
      name: 'every algorithm in one group',
      calls: inTurn([0, ...ALGORITHMS.map((algorithm) => take(algorithm, { limit: LIMITS[algorithm] }))]),
    },
    {
      name: 'hits that can never fit, those that fill, those one over',
      calls: ALGORITHMS.flatMap((algorithm) =>
        [4, 3, 1].flatMap((hits) => inTurn([0, take(`of ${algorithm}`, { hits, limit: limit(algorithm, 3, SECOND_US) })])),
      ),
    },
    {
      name: 'a limit of 0',
      calls: ALGORITHMS.flatMap((algorithm) =>
        [1, 0, -1].flatMap((hits) => inTurn([7, take(algorithm, { hits, limit: limit(algorithm, 0, SECOND_US) })])),
      ),
    },
    {
      name: 'a limit lowered to 0 and below what was used',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = (requests: number) => limit(algorithm, requests, SECOND_US);
        return inTurn(
          [0, take(algorithm, { hits: 5, limit: on(5) })],
          [9, take(algorithm, { limit: on(3) })],
          [9, take(algorithm, { hits: 0, limit: on(0) })],
          [9, take(algorithm, { limit: on(0) })],
        );
      }),
    },
  ];
}

/** One group many times. */
function times(count: number, group: Group): readonly Group[] {
  return Array.from({ length: count }, () => group);
}

function folds(): readonly Scenario[] {
  const foldable = ALGORITHMS.filter((algorithm) => algorithm !== 'sliding_window_log');
  const quota = (key: string, hits: number, descriptor = 0) => take(key, { hits, mode: 'quota', descriptor });
  return [
    {
      name: 'a fold that fits in part, of one hit and of three, twice',
      calls: foldable.flatMap((algorithm) =>
        [1, 3].flatMap((hits) => {
          const group = groupOf([take(`${algorithm} ${hits}`, { hits, limit: limit(algorithm, 10, SECOND_US) })]);
          return [...atOnce(...times(2, group)), ...atOnce(...times(12, group)), { nowUs: START_US + 450_000, groups: times(3, group) }];
        }),
      ),
    },
    {
      name: 'a fold of hits that never fit, that just fit, and of peeks',
      calls: [11, 10, 0].flatMap((hits) => atOnce(...times(3, groupOf([take(`a${hits}`, { hits })])))),
    },
    {
      name: 'a fold beside a bucket that denies after the second',
      calls: atOnce(...times(4, groupOf([take('a'), take('b', { hits: 4 }), take('c', { hits: 0 })]))),
    },
    {
      name: 'shadow and quota takes of a fold are charged as long as they fit',
      calls: atOnce(...times(5, groupOf([take('a', { hits: 4, mode: 'shadow' }), quota('b', 3), take('c')], { quotaAlwaysFits: true }))),
    },
    {
      name: 'of quota descriptors the last that fits decides',
      calls: atOnce(...times(9, groupOf([quota('a', 4), quota('b', 3), take('c')]))),
    },
    {
      name: 'of the limits of a quota descriptor the first that does not',
      calls: atOnce(...times(9, groupOf([quota('a', 4, 7), quota('b', 2, 7), quota('c', 3, 8)]))),
    },
    {
      name: 'a fold in global shadow mode',
      calls: atOnce(...times(5, groupOf([take('a', { hits: 3 }), take('b', { hits: 11 }), quota('c', 9)], { shadow: true }))),
    },
    {
      name: 'folds and single groups of one shape and of others, each with its own keys',
      calls: atOnce(
        ...['a', 'b', 'c'].map((key) => groupOf([take(key)])),
        ...times(2, groupOf([take('d')])),
        ...times(2, groupOf([take('e')])),
        groupOf([take('f', { hits: 2 }), take('g', { limit: THREE_PER_MINUTE })]),
        groupOf([take('h', { hits: 2 }), take('a', { limit: TEN_PER_SECOND })]),
        groupOf([take('b')]),
      ),
    },
    {
      name: 'a fold brings a bucket from after now to now, and charges it if it may',
      calls: foldable.flatMap((algorithm) => {
        const on = { limit: LIMITS[algorithm] };
        return [2, 3].flatMap((used) => {
          const key = `${algorithm} ${used}`;
          return [
            ...inTurn([0, take(key, { ...on, hits: used })]),
            { nowUs: START_US - 3_600_000_000, groups: times(3, groupOf([take(key, on)])) },
          ];
        });
      }),
    },
    {
      name: 'a fold whose limit was lowered below what is used',
      calls: [
        ...inTurn([0, take('a', { hits: 9 })]),
        ...atOnce(...times(2, groupOf([take('a', { limit: limit('token_bucket', 3, SECOND_US) })]))),
      ],
    },
    {
      name: 'a fold on a list',
      unreadable: { list: null },
      calls: atOnce(...times(3, groupOf([take('b'), take('list')])), groupOf([take('b')])),
    },
    {
      name: 'a group on a bucket with too large a number fails alone, and leaves no trace in buckets that others of the run use',
      unreadable: { broken: `${Math.floor(START_US / THREE_PER_MINUTE.windowUs)} 1 ${'9'.repeat(400)}` },
      calls: [1, 2].map((count) => ({
        nowUs: START_US + 1_000,
        groups: [
          groupOf([take('a', { hits: 3 })]),
          ...times(count, groupOf([take('a', { hits: 2 }), take('broken', { limit: LIMITS.sliding_window_counter })])),
          groupOf([take('a', { hits: 1 })]),
        ],
      })),
    },
  ];
}

/** What no caller sends: a fold with a log, on which the script fails when half of its answer is there; between others, and last. */
function foldOfLog(): ExpectedScenario {
  const [ofBucket, ofLog] = ['1 0 0 1 1000000 10 10 0', '4 0 0 1 60000000 3 3 0'];
  const args = `6 a a log a a log 0 2 0 1 ${ofBucket} 0 2 ${ofBucket} ${ofLog} 1 1 1 2 1 2 1 1 1 2 1 2`.split(' ');
  const buckets: readonly ExpectedBucket[] = [
    { key: 'a', value: packState({ used: 2, rest: 0, atUs: START_US }, TEN_PER_SECOND), change: { ttlMs: 2_200 } },
    { key: 'log', value: null, change: 'kept' },
  ];
  const reply = [START_US, 9, 100_000, -3, 8, 200_000, -3];
  return {
    name: 'fails alone',
    setUp: [],
    setUpKeys: [],
    calls: [{ nowUs: START_US, script: 'take', args, reply, buckets, reads: { get: 2, mget: 0, exists: 0 } }],
  };
}

function unreadable(): readonly Scenario[] {
  const texts: Readonly<Record<Algorithm, readonly string[]>> = {
    token_bucket: [
      'text',
      '1 0 5x',
      'x1 0 5',
      '1 0',
      `${BEYOND_EXACT} 0 5`,
      '1 1000000 5',
      `1 0 ${BEYOND_EXACT}`,
      `\x20${'\0'.repeat(11)}`,
      `${'\0'.repeat(7)}\x20${'\0'.repeat(6)}`,
      '\x01'.repeat(13),
    ],
    leaky_bucket: ['1 0 5 '],
    budget: ['text', '1.5', '1e3', '0x10', '--1', ' 1', BEYOND_EXACT, `-${BEYOND_EXACT}`],
    fixed_window: ['text', '30 1x', 'x30 1', `${BEYOND_EXACT} 1`, `30 ${BEYOND_EXACT}`, BEYOND_EXACT, '-1', '1.5', 'nan'],
    sliding_window_log: ['abc', 'twelve bytes', ''.padEnd(14, 'x'), ''.padEnd(16, 'x')],
    sliding_window_counter: ['text', '30 1 1x', 'x30 1 1', `${BEYOND_EXACT} 1 1`, `30 ${BEYOND_EXACT} 1`, `30 1 ${BEYOND_EXACT}`],
  };
  return [
    {
      name: 'a list where a bucket is to be',
      unreadable: { list: null },
      calls: atOnce(groupOf([take('b'), take('list')]), groupOf([take('list')]), groupOf([take('b')])),
    },
    {
      name: 'an unreadable bucket among readable ones, first and last',
      unreadable: { list: null, text: 'text' },
      calls: [
        ...atOnce(groupOf([take('list'), take('b')]), groupOf([take('b'), take('text')]), groupOf([take('b')])),
        ...inTurn([0, take('b')]),
      ],
    },
    ...HIT_ALGORITHMS.flatMap((algorithm) =>
      texts[algorithm].map((text): Scenario => ({
        name: `"${text}" is no ${algorithm}`,
        unreadable: { text },
        calls: inTurn([0, take('text', { limit: LIMITS[algorithm] })], [0, take('text', { hits: 0, limit: LIMITS[algorithm] })]),
      })),
    ),
    {
      name: 'budgets with the largest numbers are buckets',
      stored: { spent: { spent: Number.MAX_SAFE_INTEGER }, raised: { spent: -Number.MAX_SAFE_INTEGER } },
      calls: inTurn([0, take('spent', { hits: 0, limit: LIMITS.budget })], [0, take('raised', { hits: 0, limit: LIMITS.budget })]),
    },
    {
      name: 'a log without records is a bucket',
      stored: { a: { before: 7, records: [], nowUs: 0 } },
      calls: inTurn([0, take('a', { hits: 0, limit: LIMITS.sliding_window_log })], [0, take('a', { limit: LIMITS.sliding_window_log })]),
    },
    {
      name: 'an unused bucket that has a key loses it with its first refund after a charge',
      stored: { a: { used: 0, rest: 0, atUs: START_US } },
      calls: inTurn([0, take('a', { hits: -1 })], [0, take('a'), take('a', { hits: -1 })]),
    },
  ];
}

/** For every two algorithms: the first denies, the second is beside it, used and unused, and nothing changes. */
function denials(): readonly Scenario[] {
  return ALGORITHMS.flatMap((denying) =>
    ALGORITHMS.map((beside): Scenario => {
      const [denies, limit] = [LIMITS[denying], LIMITS[beside]];
      return {
        name: `${denying} denies, ${beside} beside it`,
        calls: inTurn(
          [0, take('full', { limit: denies, hits: denies.capacity }), take('used', { limit })],
          [1_000, take('used', { limit }), take('unused', { limit }), take('full', { limit: denies }), take('used', { limit, hits: -1 })],
          // The clock steps back: a denied group brings its own buckets to now, a peek does not.
          [-3_600_000_000, take('used', { limit, hits: 0 }), take('full', { limit: denies, hits: 0 })],
          [-3_600_000_000, take('used', { limit, hits: -1 }), take('full', { limit: denies })],
          [-3_600_000_000, take('used', { limit }), take('full', { limit: denies })],
        ),
      };
    }),
  );
}

function edges(): readonly Scenario[] {
  const yearly = (requests: number) => limit('token_bucket', requests, YEAR_US, UINT32_MAX);
  return [
    {
      name: 'a year or more later, where time times rate passes 2^53, of a bucket that a year does not fill',
      calls: [1, 2, 3].flatMap((years) => {
        const slow = limit('token_bucket', 1000, YEAR_US, 5000);
        return inTurn([0, take(`${years}`, { hits: 4000, limit: slow })], [years * YEAR_US + 5, take(`${years}`, { limit: slow })]);
      }),
    },
    {
      name: 'a shadow take that did not fit, and would after the refund beside it',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = limit(algorithm, 10, SECOND_US);
        // At the beginning of a window, and where a rest has gathered.
        return [0, 50_000].flatMap((after) =>
          [1, 2].flatMap((hits) => {
            const key = `${algorithm} ${after} ${hits}`;
            const [shadow, refund] = [take(key, { hits: 6, limit: on, mode: 'shadow' }), take(key, { hits: -hits, limit: on })];
            return inTurn([0, take(key, { hits: 5, limit: on })], [after, shadow, refund, take(key, { hits: 0, limit: on })]);
          }),
        );
      }),
    },
    {
      name: 'half a hit refilled',
      calls: inTurn(
        [0, take('a', { hits: 5 })],
        [150_000, take('a', { hits: 0 })],
        [150_000, take('a')],
        [200_000, take('a')],
        [620_000, take('a', { hits: 9 })],
      ),
    },
    {
      name: 'a bucket that no longer refills: the wait is one window',
      calls: inTurn([0, take('a', { hits: 5 })], [0, take('a', { hits: 1, limit: limit('token_bucket', 0, SECOND_US, 5) })]),
    },
    {
      name: 'a bucket that no longer refills, with room left: it is kept as long as it was to be',
      calls: inTurn([0, take('a', { hits: 2 })], [0, take('a', { hits: 1, limit: limit('token_bucket', 0, SECOND_US, 5) })]),
    },
    {
      // 286 hits and a half flow in each time: more parts than are exact, and the second half makes the rest full to the part.
      name: 'a rest that is full, where the product is not exact',
      calls: inTurn(
        ...[0, 2_258_766, 4_517_532].map(
          (after) => [after, take('a', { hits: after === 0 ? 2_000 : 1, limit: yearly(4_000_000_000) })] as const,
        ),
      ),
    },
    {
      name: 'refilled to the last hit',
      calls: inTurn(
        [0, take('a', { hits: 2 })],
        [199_999, take('a', { hits: 0 })],
        [200_000, take('a', { hits: 0 })],
        [200_000, take('a')],
      ),
    },
    {
      name: 'a refund of all but one, of all, and of more, with a rest gathered',
      calls: [4, 5, 6].flatMap((hits) =>
        inTurn([0, take(`${hits}`, { hits: 5 })], [50_000, take(`${hits}`, { hits: -hits })], [60_000, take(`${hits}`, { hits: 0 })]),
      ),
    },
    {
      // 28059810762433 * 321 is 2^53 + 1, which no double holds.
      name: 'a product one over what is exact',
      calls: inTurn(
        [0, take('a', { hits: UINT32_MAX, limit: yearly(321) })],
        [28_059_810_762_433, take('a', { hits: 0, limit: yearly(321) })],
        [28_059_810_762_433, take('a', { limit: yearly(321) })],
        [28_059_810_762_434, take('a', { hits: -1, limit: yearly(321) })],
      ),
    },
    {
      // 1351542857142857 * 7 is three hundred years less one part: the halving ends one below 0.
      name: 'one part less than a whole hit, after halving',
      calls: inTurn(
        [0, take('a', { hits: 7, limit: limit('token_bucket', 7, CENTURY_US) })],
        [1_351_542_857_142_857, take('a', { limit: limit('token_bucket', 7, CENTURY_US) })],
      ),
    },
    {
      name: 'no wait is over a hundred years',
      calls: inTurn(
        [0, take('a', { hits: 2, limit: limit('token_bucket', 1, CENTURY_US, 2) })],
        [5, take('a', { hits: 0, limit: limit('token_bucket', 1, CENTURY_US, 2) })],
        [5, take('a', { limit: limit('token_bucket', 1, CENTURY_US, 2) })],
      ),
    },
    {
      name: 'a hundred years but for what has gathered',
      calls: inTurn(
        [0, take('a', { limit: limit('token_bucket', 1, CENTURY_US) })],
        [5, take('a', { limit: limit('token_bucket', 1, CENTURY_US) })],
      ),
    },
    {
      name: 'the edge of a window, of each that has one',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = limit(algorithm, 5, 7 * SECOND_US);
        const edge = 7 * SECOND_US - (START_US % (7 * SECOND_US));
        return inTurn(
          ...[-1, 0, 1, 7 * SECOND_US - 1, 7 * SECOND_US, 14 * SECOND_US].flatMap((at) => [
            [edge + at, take(algorithm, { limit: on, hits: 2 })] as const,
            [edge + at, take(algorithm, { limit: on, hits: 4 })] as const,
          ]),
        );
      }),
    },
    {
      name: 'the clock steps back within a window and out of it',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = limit(algorithm, 5, 60 * SECOND_US);
        return inTurn(
          [0, take(algorithm, { limit: on, hits: 2 })],
          [30 * SECOND_US, take(algorithm, { limit: on })],
          [10 * SECOND_US, take(algorithm, { limit: on, hits: 0 })],
          [10 * SECOND_US, take(algorithm, { limit: on })],
          [-60 * SECOND_US, take(algorithm, { limit: on, hits: 9 })],
          [-60 * SECOND_US, take(algorithm, { limit: on, hits: -1 })],
        );
      }),
    },
  ];
}

function logs(): readonly Scenario[] {
  const on = (requests: number) => limit('sliding_window_log', requests, SECOND_US);
  const filled = [1, 2, 3, 4, 5].map((i) => [i * 100_000, take('a', { hits: i, limit: on(15) })] as const);
  return [
    {
      name: 'a log of several records: each wait, each refund',
      calls: [
        ...inTurn(...filled),
        ...inTurn(...[1, 2, 3, 4, 6, 7, 10, 11, 15].map((hits) => [600_000, take('a', { hits, limit: on(15) })] as const)),
        ...inTurn(
          [600_000, take('a', { hits: -3, limit: on(15) })],
          [600_000, take('a', { hits: -2, limit: on(15) })],
          [600_000, take('a', { hits: -5, limit: on(15) })],
          [600_000, take('a', { hits: 6, limit: on(15) })],
        ),
      ],
    },
    {
      name: 'records go one by one at the end of their window',
      calls: inTurn(
        ...filled,
        ...[1_099_999, 1_100_000, 1_200_001, 1_400_000, 1_500_000].map((at) => [at, take('a', { limit: on(15) })] as const),
      ),
    },
    {
      name: 'hits of one microsecond are one record',
      calls: inTurn(
        [0, take('a', { limit: on(9) })],
        [0, take('a', { limit: on(9) })],
        [1, take('a', { limit: on(9) })],
        [1, take('a', { hits: 2, limit: on(9) })],
      ),
    },
    {
      name: 'a step back onto a record, between two and before all',
      calls: inTurn(
        ...filled,
        [300_000, take('a', { hits: 20, limit: on(15) })],
        [250_000, take('a', { hits: 0, limit: on(15) })],
        [250_000, take('a', { limit: on(16) })],
        [50_000, take('a', { limit: on(20) })],
      ),
    },
    {
      name: 'sums beyond 2^32',
      calls: inTurn(
        [0, take('a', { hits: UINT32_MAX - 2, limit: on(UINT32_MAX) })],
        [SECOND_US - 1, take('a', { hits: 2, limit: on(UINT32_MAX) })],
        [SECOND_US, take('a', { hits: 1, limit: on(5) })],
        [SECOND_US + 1, take('a', { hits: 2, limit: on(5) })],
        [SECOND_US + 2, take('a', { hits: 2, limit: on(5) })],
        [SECOND_US + 2, take('a', { hits: -2, limit: on(5) })],
        [SECOND_US + 2, take('a', { hits: 4, limit: on(5) })],
        [3 * SECOND_US, take('a', { hits: 4, limit: on(5) })],
      ),
    },
  ];
}

function counters(): readonly Scenario[] {
  const on = (requests: number, windowUs = 10 * SECOND_US) => limit('sliding_window_counter', requests, windowUs);
  const huge = 2 ** 31;
  return [
    {
      name: 'a counter through three windows',
      calls: inTurn(
        ...[0, 3, 5, 9.999999, 10, 10.000001, 12, 15, 19, 20, 25, 31, 55].flatMap((s) =>
          [1, 3, 6].map((hits) => [s * SECOND_US, take('a', { hits, limit: on(6) })] as const),
        ),
      ),
    },
    {
      name: 'a window with the last exact number of hits, one after such a window, and the last exact window',
      stored: {
        now: { index: START_US / SECOND_US, current: 2 ** 53 - 1, previous: 0, elapsedUs: 0 },
        before: { index: START_US / SECOND_US, current: 0, previous: 2 ** 53 - 1, elapsedUs: 0 },
        last: { index: 2 ** 53 - 1, current: 1, previous: 0, elapsedUs: 0 },
      },
      calls: ['now', 'before', 'last'].flatMap((key) => inTurn([0, take(key, { limit: on(UINT32_MAX, SECOND_US) })])),
    },
    {
      name: 'a refund reaches into the window before',
      calls: inTurn(
        [0, take('a', { hits: 5, limit: on(6) })],
        [12 * SECOND_US, take('a', { hits: 1, limit: on(6) })],
        [12 * SECOND_US, take('a', { hits: -3, limit: on(6) })],
        [13 * SECOND_US, take('a', { hits: -9, limit: on(6) })],
      ),
    },
    {
      name: 'a refund within this window leaves the one before',
      calls: inTurn(
        [0, take('a', { hits: 5, limit: on(9) })],
        [15 * SECOND_US, take('a', { hits: 3, limit: on(9) })],
        [15 * SECOND_US, take('a', { hits: -2, limit: on(9) })],
        [15 * SECOND_US, take('a', { hits: -1, limit: on(9) })],
      ),
    },
    {
      name: 'the window before alone still counts',
      calls: inTurn(
        [0, take('a', { hits: 5, limit: on(6) })],
        [12 * SECOND_US, take('a', { hits: 0, limit: on(6) })],
        [12 * SECOND_US, take('a', { hits: -1, limit: on(6) })],
        [13 * SECOND_US, take('a', { hits: 4, limit: on(6) })],
      ),
    },
    {
      name: 'one hit in the last microsecond that it weighs',
      calls: inTurn(
        [0, take('a', { limit: on(1) })],
        [20 * SECOND_US - 1, take('a', { limit: on(1) })],
        [20 * SECOND_US, take('a', { limit: on(1) })],
      ),
    },
    {
      // 2^30 * a day / 3623878656 is a whole number, and its odd part an even one: the halving ends on a whole divisor.
      name: 'a wait that divides evenly in the midst of halving',
      calls: inTurn(
        [0, take('a', { hits: 3_623_878_656, limit: on(UINT32_MAX, DAY_US) })],
        [DAY_US, take('a', { hits: 1, limit: on(2 ** 30 + 1, DAY_US) })],
      ),
    },
    {
      // 786432 * a day / 2^31 is a whole number, and an odd one: the halving ends on a remainder of 0.
      name: 'a wait that divides evenly after halving',
      calls: inTurn(
        [0, take('a', { hits: huge, limit: on(UINT32_MAX, DAY_US) })],
        [DAY_US, take('a', { hits: 1, limit: on(786_433, DAY_US) })],
      ),
    },
  ];
}

/** Windows as a caller names them by their edges: here four, of unequal lengths. */
function calendars(): readonly Scenario[] {
  const edgesUs = [-23, 0, 25, 60].map((hour) => START_US + hour * 3_600_000_000);
  const on = { ...limit('fixed_window', 3, DAY_US), edgesUs };
  const [first, second, third, last] = edgesUs.map((edgeUs) => edgeUs - START_US);
  const around = [first!, second!, third!, last!].flatMap((edge) => [edge - 1, edge, edge + 1_000]);
  return [
    {
      name: 'around each edge',
      calls: inTurn(...around.flatMap((at) => [2, 1, 1].map((hits) => [at, take('a', { hits, limit: on })] as const))),
    },
    {
      name: 'around each edge, going back',
      calls: inTurn(...[...around].reverse().map((at) => [at, take('a', { hits: 2, limit: on })] as const)),
    },
    {
      name: 'one window alone',
      calls: inTurn(
        ...[-1, 0, 1_000, third! - 1, third!].map((at) => [at, take('a', { limit: { ...on, edgesUs: edgesUs.slice(1, 3) } })] as const),
      ),
    },
    {
      name: 'beside takes without edges, first and last',
      calls: inTurn(
        [0, take('a'), take('b', { limit: on }), take('c', { limit: on, hits: 2 }), take('d')],
        [third!, take('a'), take('b', { limit: on }), take('d', { hits: 9 })],
      ),
    },
    {
      name: 'a take outside its windows leaves its group alone undecided, wherever it stands',
      calls: atOnce(
        ...[0, 1, 2].map((place) => {
          const outside = { ...on, edgesUs: edgesUs.slice(2) };
          return groupOf([take('a'), take('b', { limit: place === 1 ? outside : on }), take('c', { limit: place === 2 ? outside : on })]);
        }),
      ),
    },
  ];
}

function adjustments(): readonly Scenario[] {
  const small = { ...TEN_PER_SECOND, requestsPerUnit: 3, capacity: 3 };
  return [
    { name: 'no adjustment', calls: [adjustAt(0)] },
    {
      name: 'a charge: of some, of more than there is room for, of an empty bucket',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = (hits: number) => adjustment(algorithm, { limit: LIMITS[algorithm], hits });
        return [
          adjustAt(0, on(1)),
          adjustAt(7, on(0)),
          adjustAt(7, on(5)),
          adjustAt(8, on(1)),
          ...inTurn([9, take(algorithm, { limit: LIMITS[algorithm] })]),
        ];
      }),
    },
    {
      name: 'a charge of what there is room for to the hit',
      calls: [adjustAt(0, adjustment('a', { hits: 10 }), adjustment('b', { hits: 9 }), adjustment('c', { hits: 11 }))],
    },
    {
      name: 'an overdrawn bucket is not charged',
      calls: [
        ...inTurn([0, take('a', { hits: 8 })]),
        adjustAt(0, adjustment('a', { limit: small })),
        adjustAt(10, adjustment('a', { limit: small })),
      ],
    },
    {
      name: 'a bucket from after now is brought to now by what is applied, and left by what is not',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = LIMITS[algorithm];
        return [
          ...inTurn([0, take(algorithm, { limit: on, hits: 2 })]),
          adjustAt(-3_600_000_000, adjustment(algorithm, { limit: on, hits: 0 }), back(algorithm, 1, [on, -3_600_000_001, 20])),
          adjustAt(-3_600_000_000, adjustment(algorithm, { limit: on })),
        ];
      }),
    },
    {
      name: 'several of one bucket, in their order, read once and written once',
      calls: [
        adjustAt(
          0,
          adjustment('a', { hits: 8 }),
          adjustment('b'),
          adjustment('a', { hits: 8 }),
          back('a', 5, [TEN_PER_SECOND, 0]),
          adjustment('a'),
        ),
      ],
    },
    {
      name: 'charged and given back whole in one run: nothing is left, and nothing to delete',
      calls: ALGORITHMS.map((algorithm) => {
        const on = LIMITS[algorithm];
        return adjustAt(0, adjustment(algorithm, { limit: on, hits: 2 }), back(algorithm, 2, [on, 0]));
      }),
    },
    {
      name: 'given back whole and charged again in one run',
      calls: ALGORITHMS.flatMap((algorithm) => {
        const on = LIMITS[algorithm];
        return [
          ...inTurn([0, take(algorithm, { limit: on, hits: 2 })]),
          adjustAt(0, back(algorithm, 2, [on, 0]), adjustment(algorithm, { limit: on })),
        ];
      }),
    },
    {
      name: 'what is no bucket stays as it is, first and last',
      unreadable: { list: null, text: 'text' },
      calls: [adjustAt(0, adjustment('list'), adjustment('a'), adjustment('text'), back('list', 1, [TEN_PER_SECOND, 0]), adjustment('a'))],
    },
  ];
}

/** What comes back of hits, by how far time has gone. */
function givenBack(): readonly Scenario[] {
  const { token_bucket: token, fixed_window: fixed, sliding_window_counter: counter } = LIMITS;
  const log = limit('sliding_window_log', 15, SECOND_US);
  const filled = [1, 2, 3, 4, 5].map((i) => [i * 100_000, take('a', { hits: i, limit: log })] as const);
  const minute = 60 * SECOND_US;
  return [
    {
      name: 'a bucket beyond 2^53 parts, whose progress falls one part short',
      stored: { a: { used: 2 ** 40, rest: 3, atUs: START_US } },
      calls: [adjustAt(0, back('a', 1, [limit('token_bucket', 4, SECOND_US), -1, 1]))],
    },
    ...ALGORITHMS.map((algorithm): Scenario => ({
      name: `${algorithm}: part, all, more than all, none of what was taken`,
      calls: [1, 2, 3].flatMap((hits) => {
        const [key, on] = [`${hits}`, LIMITS[algorithm]];
        return [
          ...inTurn([0, take(key, { limit: on, hits: 2 })]),
          adjustAt(0, back(key, hits, [on, 0])),
          adjustAt(0, back(key, 0, [on, 0])),
          adjustAt(1, back(key, 9, [on, 0, 9])),
        ];
      }),
    })),
    {
      name: 'a token bucket, by what was used before and what has flowed in',
      calls: [0, 1, 2, 3, 6].flatMap((before) =>
        [1, 50_000, 99_999, 100_000, 150_000, 200_000, 250_000, 300_000, 410_000, 500_000].flatMap((at) =>
          [0, 2].flatMap((others) => {
            const key = `${before} ${at} ${others}`;
            const on = { ...token, capacity: 20 };
            return [
              ...inTurn(
                [-70_000, take(key, { limit: on, hits: before })],
                [0, take(key, { limit: on, hits: 3 })],
                [20_000, take(key, { limit: on, hits: others })],
              ),
              adjustAt(at, back(key, 3, [on, 0, before])),
              ...inTurn([at, take(key, { limit: on })]),
            ];
          }),
        ),
      ),
    },
    {
      name: 'a token bucket whose rest is as much as is lost of it, one part more, one less',
      // One flows in each second: a rest is in parts of a microsecond.
      calls: [-1, 0, 1].flatMap((more) => {
        const [key, on] = [`${more}`, limit('token_bucket', 1, SECOND_US, 20)];
        return [
          ...inTurn([0, take(key, { limit: on, hits: 9 })], [300_000, take(key, { limit: on, hits: 2 })]),
          adjustAt(700_000, back(key, 2, [on, 400_000 - 100_000 + more - 300_000, 0])),
        ];
      }),
    },
    {
      name: 'a token bucket left with less than one hit is full',
      calls: [0, 1, 2].flatMap((left) => {
        const key = `${left}`;
        return [
          ...inTurn([0, take(key, { hits: 3 + left })], [50_000, take(key, { hits: 0 })]),
          adjustAt(50_000, back(key, 3, [token, 50_000])),
          ...inTurn([60_000, take(key)]),
        ];
      }),
    },
    {
      name: 'a fixed window: before its end and after it',
      calls: [minute - 1, minute, minute + 1].flatMap((at) => [
        ...inTurn([0, take(`${at}`, { limit: fixed, hits: 2 })], [at, take(`${at}`, { limit: fixed })]),
        adjustAt(at, back(`${at}`, 2, [fixed, 0])),
      ]),
    },
    {
      name: 'a counter: off the window of the take, this one or the one before',
      calls: [minute - 1, minute, 2 * minute - 1, 2 * minute, 3 * minute].flatMap((at) =>
        [1, 2, 3].flatMap((hits) => {
          const [key, on] = [`${at} ${hits}`, { ...counter, requestsPerUnit: 9, capacity: 9 }];
          return [
            ...inTurn([0, take(key, { limit: on, hits: 2 })], [at, take(key, { limit: on, hits: 4 })]),
            adjustAt(at, back(key, hits, [on, 0])),
            adjustAt(at, back(key, 5, [on, at])),
            adjustAt(at, back(key, 1, [on, at + minute])),
          ];
        }),
      ),
    },
    {
      name: 'a log: some and all of each record, and none beside them',
      calls: [1, 2, 3, 4, 5].flatMap((i) =>
        [1, i, i + 1].flatMap((hits) => {
          const key = `${i} ${hits}`;
          return [
            ...inTurn(...filled.map(([at, each]) => [at, { ...each, bucketKey: key }] as const)),
            adjustAt(600_000, ...[-1, 1, 0].map((beside) => back(key, hits, [log, i * 100_000 + beside]))),
            ...inTurn([600_000, take(key, { hits: 15, limit: log })]),
          ];
        }),
      ),
    },
    {
      name: 'a log whose first record has gone',
      calls: [
        ...inTurn(...filled),
        adjustAt(1_150_000, back('a', 1, [log, 100_000]), back('a', 1, [log, 200_000]), back('a', 9, [log, 200_000])),
      ],
    },
    {
      name: 'a log of sums beyond 2^32',
      calls: ['a', 'b', 'c'].flatMap((key, part) => {
        const huge = limit('sliding_window_log', UINT32_MAX, SECOND_US);
        const taken = [
          [SECOND_US - 3, 2],
          [SECOND_US - 2, 2],
          [SECOND_US - 1, 3],
        ] as const;
        return [
          ...inTurn(
            [0, take(key, { hits: UINT32_MAX - 2, limit: huge })],
            ...taken.map(([at, hits]) => [at, take(key, { hits, limit: huge })] as const),
          ),
          ...[1, 2, 9].map((hits) => adjustAt(SECOND_US, back(key, hits, [log, SECOND_US - 3 + part]))),
          ...inTurn([SECOND_US, take(key, { hits: 15, limit: log })]),
        ];
      }),
    },
  ];
}

function adjustedCalendars(): readonly Scenario[] {
  const edgesUs = [-23, 0, 25, 60].map((hour) => START_US + hour * 3_600_000_000);
  const on = { ...limit('fixed_window', 5, DAY_US), edgesUs };
  const afterUs = edgesUs.map((edgeUs) => edgeUs - START_US);
  const around = afterUs.flatMap((edge) => [edge - 1, edge]);
  return [
    {
      name: 'charges around each edge',
      calls: around.map((at) => adjustAt(at, adjustment('a', { limit: on, hits: 4 }), adjustment('a', { limit: on, hits: 4 }))),
    },
    {
      name: 'hits of around each edge, given back around each edge',
      calls: around.flatMap((at) => [
        ...inTurn([at, take(`${at}`, { limit: on, hits: 3 })]),
        ...around.map((takenAt) => adjustAt(at, back(`${at}`, 1, [on, takenAt]))),
      ]),
    },
    { name: 'a charge does not mind when hits were taken', calls: [adjustAt(0, adjustment('a', { limit: on, takenAtUs: 1 }))] },
  ];
}

function ttlsOfAdjustments(): readonly Scenario[] {
  const slow = { ...TEN_PER_SECOND, requestsPerUnit: 1 };
  const none = { ...TEN_PER_SECOND, requestsPerUnit: 0, capacity: 10 };
  return [
    {
      name: 'of a charge: the time to full under its limit',
      calls: [
        adjustAt(0, adjustment('a', { hits: 5 })),
        adjustAt(0, adjustment('a', { limit: slow })),
        adjustAt(0, adjustment('a', { limit: { ...slow, requestsPerUnit: 2 } })),
      ],
    },
    {
      name: 'kept by hits given back',
      calls: [...inTurn([0, take('a', { hits: 9, limit: slow })]), adjustAt(0, back('a', 5, [TEN_PER_SECOND, 0]))],
    },
    {
      name: 'that of the charge beside hits given back',
      calls: [adjustAt(0, adjustment('a', { hits: 9, limit: slow }), back('a', 5, [TEN_PER_SECOND, 0]))],
    },
    {
      name: 'kept by a charge where the limit never refills',
      calls: [...inTurn([0, take('a', { hits: 4, limit: slow })]), adjustAt(0, adjustment('a', { limit: none }))],
    },
    { name: 'a window, where no limit ever refilled', calls: [adjustAt(0, adjustment('a', { limit: none }))] },
    { name: 'of the last charge in a run', calls: [adjustAt(0, adjustment('a', { limit: slow }), adjustment('a'))] },
  ];
}

/** Times to full that end on a microsecond after a whole millisecond: rounding and margin show in Redis's TTL. */
function ttls(): readonly Scenario[] {
  const odd = THREE_PER_MINUTE.windowUs - (START_US % THREE_PER_MINUTE.windowUs) - 1;
  return [
    {
      name: 'rounded up',
      calls: Array.from({ length: 20 }, (_, i) => inTurn([odd - i * 1_000, take(`${i}`, { limit: THREE_PER_MINUTE })])).flat(),
    },
  ];
}

function ttlsOfSeveralLimits(): readonly Scenario[] {
  const slow = { ...TEN_PER_SECOND, requestsPerUnit: 1 };
  const none = { ...TEN_PER_SECOND, requestsPerUnit: 0, capacity: 0 };
  return [
    {
      name: 'that of the smallest limit of the group that refills, whichever comes first',
      calls: inTurn(
        [0, take('a', { hits: 5 }), take('a', { hits: 0, limit: slow }), take('a', { limit: none, mode: 'shadow' })],
        [0, take('b', { limit: none, mode: 'shadow' }), take('b', { hits: 0, limit: slow }), take('b', { hits: 5 })],
      ),
    },
    {
      name: 'kept, where no limit of the group refills',
      calls: inTurn([0, take('a', { hits: 9, limit: slow })], [0, take('a', { hits: -1, limit: none })]),
    },
    {
      name: 'kept from an earlier group of the run',
      calls: atOnce(groupOf([take('a', { hits: 9, limit: slow })]), groupOf([take('a', { hits: -1, limit: none })])),
    },
    { name: 'a window, where no limit ever refilled', calls: inTurn([0, take('a', { hits: 2, limit: { ...none, capacity: 5 } })]) },
  ];
}

function timelines(): readonly Scenario[] {
  return loadTimelines().map(({ name, steps }) => ({ name, calls: steps.map(({ nowUs, group }) => ({ nowUs, groups: [group] })) }));
}

function randoms(of: fc.Arbitrary<readonly ScheduleStep[]>): readonly Scenario[] {
  return fc.sample(of, { numRuns: 60, seed: SEED }).map((steps, i) => ({
    name: `schedule ${i}`,
    // Every third one is a single run: its groups at one time.
    calls:
      i % 3 === 2
        ? [{ nowUs: steps[0]!.nowUs, groups: steps.map(({ group }) => group) }]
        : steps.map(({ nowUs, group }) => ({ nowUs, groups: [group] })),
  }));
}

function randomSlots(): readonly Scenario[] {
  return fc.sample(slotSchedules(), { numRuns: 150, seed: SEED }).map((steps, i) => ({
    name: `schedule ${i}`,
    calls: steps.map((step) => ('group' in step ? { nowUs: step.nowUs, groups: [step.group] } : step)),
  }));
}

function randomAdjustments(algorithm: Algorithm | undefined): readonly Scenario[] {
  return fc.sample(settlingSchedules(algorithm), { numRuns: 60, seed: SEED }).map((steps, i) => ({
    name: `schedule ${i}`,
    calls: steps.map((step) => ('group' in step ? { nowUs: step.nowUs, groups: [step.group] } : step)),
  }));
}
