/** A batch waits for company only while calls come often, and while waits gain some. */

import { PipelineWindow } from '../../../src/state/store/layers/pipeline-window';

const WINDOW_MS = 2;
const TRIAL = 1_000;

function openWindow(limit = 0): PipelineWindow {
  return new PipelineWindow({ windowMs: WINDOW_MS, limit });
}

/** Calls at equal distances. */
function call(window: PipelineWindow, { everyMs, times = 40 }: { readonly everyMs: number; readonly times?: number }): PipelineWindow {
  for (let i = 0; i < times; i += 1) window.onCall(i * everyMs);
  return window;
}

test('a call waits while another one is expected within the window', () => {
  expect(call(openWindow(), { everyMs: 0.5 }).waitMs(1)).toBe(WINDOW_MS);
  expect(call(openWindow(), { everyMs: WINDOW_MS }).waitMs(1)).toBe(WINDOW_MS);
});

test('a call that would wait alone is sent at once', () => {
  expect(openWindow().waitMs(1)).toBe(0);
  expect(call(openWindow(), { everyMs: 10, times: 1 }).waitMs(1)).toBe(0);
  expect(call(openWindow(), { everyMs: WINDOW_MS * 1.1 }).waitMs(1)).toBe(0);
});

test('a burst is noticed within a few calls after an hour without any', () => {
  const window = openWindow();
  window.onCall(0);
  for (let i = 0; i < 20; i += 1) window.onCall(3_600_000 + i * 0.1);
  expect(window.waitMs(1)).toBe(WINDOW_MS);
});

test.each([
  [0, 16],
  [4, 4],
])('with the limit %i a batch of %i groups is sent at once', (limit, enough) => {
  const window = call(openWindow(limit), { everyMs: 0.1 });
  expect([window.waitMs(enough - 1), window.waitMs(enough)]).toEqual([WINDOW_MS, 0]);
  expect([window.isFull(enough - 1), window.isFull(enough)]).toEqual([false, true]);
});

describe('waits that gain nothing', () => {
  function disappointed(): PipelineWindow {
    const window = call(openWindow(), { everyMs: 0.1 });
    expect(window.waitMs(1)).toBe(WINDOW_MS);
    window.onWaited(0);
    return window;
  }

  test('end, until a trial after many batches', () => {
    const window = disappointed();
    const waits = Array.from({ length: TRIAL }, () => window.waitMs(1));
    expect(waits.filter((ms) => ms > 0)).toEqual([WINDOW_MS]);
    expect(waits.at(-1)).toBe(WINDOW_MS);
    window.onWaited(0);
    expect(window.waitMs(1)).toBe(0);
  });

  test('begin again with a trial that gains', () => {
    const window = disappointed();
    while (window.waitMs(1) === 0);
    window.onWaited(2);
    expect(window.waitMs(1)).toBe(WINDOW_MS);
  });
});

test('waits that gain a call on average go on when one of them gains none', () => {
  const window = call(openWindow(), { everyMs: 0.5 });
  for (const gained of [2, 1, 0, 1, 0, 2]) {
    expect(window.waitMs(1)).toBe(WINDOW_MS);
    window.onWaited(gained);
  }
  expect(window.waitMs(1)).toBe(WINDOW_MS);
});
