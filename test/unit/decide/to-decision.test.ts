/** Statuses are in the order of the descriptors, each with the limit that binds. */

import { NEVER } from '../../../src/domain/algorithm/engine';
import type { Verdict } from '../../../src/domain/bucket/take';
import { shownRemaining } from '../../../src/domain/decide/decision';
import { NOTHING_TAKEN, toDecision } from '../../../src/domain/decide/to-decision';
import type { Match } from '../../../src/domain/rule/match';
import { markedVerdicts } from '../../support/decisions/decided-request';
import { limitOf } from '../../support/decisions/rules';

const plain: Match = { limits: [limitOf()], unlimited: false, mode: 'enforced', quotaAlwaysFits: false, path: [] };
const unmatched: Match = { ...plain, limits: [] };

function verdict(parts: Partial<Verdict>): Verdict {
  return { fits: true, remaining: 5, retryAfterUs: 0, resetAfterUs: 500_000, ...parts };
}

function decisionOf(matches: readonly Match[], verdicts: readonly Verdict[], overLimit = false) {
  return toDecision({ domainFound: true, matches }, { overLimit, verdicts: markedVerdicts(matches, verdicts), nowUs: 0 }, () => 0);
}

test('statuses match the descriptors one to one, limited or not', () => {
  const unlimited: Match = { ...unmatched, unlimited: true };
  const { statuses } = decisionOf([unmatched, plain, unlimited, plain], [verdict({ remaining: 1 }), verdict({ remaining: 2 })]);
  expect(statuses.map(({ code, limitRemaining, currentLimit }) => [code, limitRemaining, currentLimit?.unit])).toEqual([
    ['OK', 0, undefined],
    ['OK', 1, 'second'],
    ['OK', 4_294_967_295, undefined],
    ['OK', 2, 'second'],
  ]);
});

test('a request without limits takes nothing', () => {
  const { overallCode, statuses } = toDecision({ domainFound: false, matches: [unmatched] }, NOTHING_TAKEN, () => 0);
  expect([overallCode, statuses.length]).toEqual(['OK', 1]);
});

test.each([
  ['fits', verdict({}), 500_000],
  ['over', verdict({ fits: false, retryAfterUs: 70_000 }), 70_000],
  ['over, never to fit', verdict({ fits: false, retryAfterUs: NEVER }), 500_000],
  ['over, with room made by a refund beside it', verdict({ fits: false, retryAfterUs: 0 }), 500_000],
])('the reset of %s is right', (_what, given, resetUs) => {
  expect(decisionOf([plain], [given]).statuses[0]?.durationUntilResetUs).toBe(resetUs);
});

test('in a denied request a descriptor with room stays OK with its tokens untouched', () => {
  const { overallCode, statuses } = decisionOf([plain, plain], [verdict({}), verdict({ fits: false, remaining: 0 })], true);
  expect(overallCode).toBe('OVER_LIMIT');
  expect(statuses.map(({ code, limitRemaining }) => [code, limitRemaining])).toEqual([
    ['OK', 5],
    ['OVER_LIMIT', 0],
  ]);
});

describe('a descriptor that denies shows 0 remaining', () => {
  const quota: Match = { ...plain, mode: 'quota' };
  const tooFew = verdict({ fits: false, remaining: 3 });

  test.each<[string, readonly Match[], readonly Verdict[], readonly number[]]>([
    ['an enforced one', [plain, plain], [verdict({ remaining: 1 }), tooFew], [1, 0]],
    ['not a quota one while another quota fits', [quota, quota, plain], [tooFew, verdict({}), tooFew], [3, 5, 0]],
    ['quota ones, if all of them are over', [quota, quota], [tooFew, tooFew], [0, 0]],
    [
      'not a quota one beside a quota that always fits',
      [quota, { ...unmatched, quotaAlwaysFits: true }, plain],
      [tooFew, tooFew],
      [3, 0, 0],
    ],
    ['not a shadow one', [{ ...plain, mode: 'shadow' }, plain], [tooFew, tooFew], [3, 0]],
  ])('a denying descriptor shows 0 remaining: %s', (_which, matches, verdicts, shown) => {
    expect(decisionOf(matches, verdicts, true).statuses.map(shownRemaining)).toEqual(shown);
  });

  test('an allowed request shows what remains', () => {
    expect(decisionOf([plain], [tooFew]).statuses.map(shownRemaining)).toEqual([3]);
  });
});

test('a shadow descriptor shows OK, and its verdict keeps that it did not fit', () => {
  const [status] = decisionOf([{ ...plain, mode: 'shadow' }], [verdict({ fits: false, remaining: 0 })]).statuses;
  expect(status).toMatchObject({ code: 'OK', fits: false, limitRemaining: 0 });
});

describe('several limits show the one that binds', () => {
  const names = ['a', 'b', 'c'];
  const several: Match = { ...plain, limits: names.map((name) => limitOf({ name })) };

  test.each([
    ['the least remaining', [verdict({ remaining: 3 }), verdict({ remaining: 1 }), verdict({ remaining: 2 })], 'b'],
    ['the first of equals', [verdict({}), verdict({}), verdict({})], 'a'],
    ['one that does not fit', [verdict({ remaining: 0 }), verdict({ fits: false, remaining: 9 }), verdict({})], 'b'],
    [
      'the longest wait',
      [verdict({ fits: false, retryAfterUs: 1 }), verdict({ fits: false, retryAfterUs: 3 }), verdict({ fits: false, retryAfterUs: 2 })],
      'b',
    ],
    [
      'never fits, before any wait',
      [verdict({ fits: false, retryAfterUs: 9 }), verdict({ fits: false, retryAfterUs: NEVER }), verdict({})],
      'b',
    ],
  ])('the shown limit is the one that binds: %s', (_why, verdicts, name) => {
    expect(decisionOf([several], verdicts).statuses[0]?.currentLimit?.name).toBe(name);
  });
});
