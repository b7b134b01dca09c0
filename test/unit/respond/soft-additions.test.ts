/** Soft lines are passed at exact counts, the highest speaks, and denied requests and those without the store have none. */

import type { DecidedRequest } from '../../../src/domain/respond/decided/decided-request';
import { softAdditions } from '../../../src/domain/respond/soft-additions';
import { passedLine, type SoftLine } from '../../../src/domain/rule/soft/soft-line';
import { limitOf } from '../../support/decisions/rules';

const line = (percent: number, more: Partial<SoftLine> = {}): SoftLine => ({
  at: percent * 10_000,
  requestHeaders: [],
  responseHeaders: [],
  ...more,
});

test.each([
  [80, 3, 2, undefined],
  [80, 3, 3, 80],
  [80, 10, 7, undefined],
  [80, 10, 8, 80],
  [100, 10, 9, undefined],
  [100, 10, 10, 100],
  [0.0001, 10, 1, 0.0001],
  [0.0001, 10, 0, undefined],
  // Products beyond 2^53 are exact.
  [50, 2 ** 53 - 1, 2 ** 52 - 1, undefined],
  [50, 2 ** 53 - 1, 2 ** 52, 50],
  // Below zero.
  [100, 10, 25, 100],
])('a line at %d %% of %d hits, with %d used: %s', (percent, capacity, used, passed) => {
  expect(passedLine([line(percent)], { capacity, remaining: capacity - used })?.at).toBe(
    passed === undefined ? undefined : passed * 10_000,
  );
});

test('a line of a limit whose numbers change is passed by the numbers of the moment', () => {
  const lines = [line(50)];
  for (const capacity of [10, 100, 10])
    for (const [used, passed] of [
      [capacity / 2 - 1, undefined],
      [capacity / 2, lines[0]],
    ] as const)
      expect(passedLine(lines, { capacity, remaining: capacity - used })).toBe(passed);
});

const header = (name: string, value: string) => [{ name, value }];

function decided(
  limits: readonly { readonly soft?: readonly SoftLine[]; readonly remaining: number }[],
  more: object = {},
): DecidedRequest {
  const verdicts = limits.map(({ remaining }) => ({ remaining, fits: true }));
  const matches = limits.map(({ soft }) => ({ limits: [{ ...limitOf(), capacity: 100, ...(soft && { soft }) }] }));
  return { matched: { matches }, verdict: { verdicts, ...more }, decision: { overallCode: 'OK', ...more } } as unknown as DecidedRequest;
}

const LINES = [
  line(50, { responseHeaders: header('x-warning', 'half') }),
  line(80, { requestHeaders: header('x-tier', 'economy'), responseHeaders: header('x-warning', 'soon') }),
];

test('the lines below the highest that is passed count too, and the highest gives the value of a header', () => {
  expect(softAdditions(decided([{ soft: LINES, remaining: 51 }]))).toBeUndefined();
  expect(softAdditions(decided([{ soft: LINES, remaining: 50 }]))).toEqual({
    requestHeaders: [],
    responseHeaders: header('x-warning', 'half'),
    atPercent: 50,
  });
  expect(softAdditions(decided([{ soft: LINES, remaining: 0 }]))).toEqual({
    requestHeaders: header('x-tier', 'economy'),
    responseHeaders: header('x-warning', 'soon'),
    atPercent: 80,
  });
});

test('of several limits the one with the highest passed line speaks', () => {
  const other = [line(90, { requestHeaders: header('x-tier', 'last') })];
  expect(softAdditions(decided([{ soft: LINES, remaining: 10 }, { remaining: 0 }, { soft: other, remaining: 5 }]))?.atPercent).toBe(90);
  expect(
    softAdditions(
      decided([
        { soft: LINES, remaining: 10 },
        { soft: other, remaining: 11 },
      ]),
    )?.atPercent,
  ).toBe(80);
});

test.each([
  ['a denied request', { overallCode: 'OVER_LIMIT' }],
  ['a decision without the store', { fallback: true }],
])('%s has none', (_what, more) => {
  expect(softAdditions(decided([{ soft: LINES, remaining: 0 }], more))).toBeUndefined();
});
