/** An open connection is authenticated again before its token ends, and a failure is tried again with growing waits. */

import { keepAuthenticated, type Token } from '../../../src/state/store/redis/credentials/keep-authenticated';

const HOUR_MS = 3_600_000;
const TOKEN: Token = { username: 'u', password: 'p', renewAfterMs: HOUR_MS };

let mint: jest.Mock<Promise<Token>, [{ readonly isRenewal: boolean }]>;
let send: jest.Mock<Promise<void>, [readonly string[]]>;
let problems: (string | undefined)[];
let stop: () => void;

beforeEach(() => {
  jest.useFakeTimers();
  mint = jest.fn<Promise<Token>, [{ readonly isRenewal: boolean }]>(() => Promise.resolve(TOKEN));
  send = jest.fn<Promise<void>, [readonly string[]]>(() => Promise.resolve());
  problems = [];
  stop = keepAuthenticated({ mint, send, renewAfterMs: HOUR_MS, onRenewal: (problem) => problems.push(problem) });
});

afterEach(() => {
  stop();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

test('AUTH follows in the last tenth of each period', async () => {
  await jest.advanceTimersByTimeAsync(0.9 * HOUR_MS - 1);
  expect(send).not.toHaveBeenCalled();
  await jest.advanceTimersByTimeAsync(0.1 * HOUR_MS + 1);
  expect(send.mock.calls).toEqual([[['AUTH', 'u', 'p']]]);
  expect(mint.mock.calls).toEqual([[{ isRenewal: true }]]);
  await jest.advanceTimersByTimeAsync(9 * HOUR_MS);
  expect(send.mock.calls.length).toBeGreaterThanOrEqual(10);
  expect(send.mock.calls.length).toBeLessThanOrEqual(12);
  expect(new Set(problems)).toEqual(new Set([undefined]));
});

test.each<[string, () => void]>([
  ['a token that nobody gives', () => mint.mockRejectedValue(new Error('no'))],
  ['a token that Redis refuses', () => send.mockRejectedValue(new Error('no'))],
])('%s is tried again within a second, and then at least each minute', async (_, fail) => {
  const failures = () => problems.filter((problem) => problem === 'no').length;
  fail();
  await jest.advanceTimersToNextTimerAsync();
  expect(failures()).toBe(1);
  await jest.advanceTimersByTimeAsync(500);
  expect(failures()).toBe(2);
  await jest.advanceTimersByTimeAsync(10 * HOUR_MS);
  // Each wait is 30 to 60 s, but for the first few.
  expect(failures()).toBeGreaterThanOrEqual(600);
  expect(failures()).toBeLessThanOrEqual(1_200 + 10);
  mint.mockResolvedValue(TOKEN);
  send.mockResolvedValue();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(problems.at(-1)).toBeUndefined();
  const before = failures();
  fail();
  await jest.advanceTimersToNextTimerAsync();
  await jest.advanceTimersByTimeAsync(500);
  expect(failures()).toBe(before + 2);
});

test('the end of the connection ends it, also while a token is awaited', async () => {
  let give: (token: Token) => void = () => undefined;
  mint.mockReturnValue(new Promise((resolve) => (give = resolve)));
  await jest.advanceTimersByTimeAsync(HOUR_MS);
  expect(mint).toHaveBeenCalledTimes(1);
  stop();
  give(TOKEN);
  await jest.advanceTimersByTimeAsync(2 * HOUR_MS);
  expect(send).not.toHaveBeenCalled();
  expect(problems).toEqual([]);
});
