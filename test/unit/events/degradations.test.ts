/** A line of the health check is an event when it comes and when it goes. */

import { Degradations, QUIET_MS } from '../../../src/state/events/degradations';
import type { Mark } from '../../../src/state/events/outbox';

function following() {
  const marks: Mark[] = [];
  let lines: readonly string[] = [];
  let nowMs = 5_000;
  const degradations = new Degradations({
    instance: 'i',
    add: (mark) => marks.push(mark),
    lines: () => lines,
    nowMs: () => nowMs,
    wallMs: () => 1_800_000_000_000 + nowMs,
  });
  return {
    marks,
    look: (present: readonly string[], afterMs = 0) => {
      nowMs += afterMs;
      lines = present;
      degradations.look();
    },
    said: () =>
      marks.splice(0).map(({ text }) => {
        const { type, subject } = JSON.parse(text) as { readonly type: string; readonly subject: string };
        return `${type} ${subject}`;
      }),
  };
}

test('what is degraded when it is first seen, and what recovers, is an event', () => {
  const { look, said } = following();
  look(['degraded: redis']);
  look(['degraded: redis', 'control: stale'], 1_000);
  expect(said()).toEqual(['weir.instance.degraded degraded: redis', 'weir.instance.degraded control: stale']);
  look([], QUIET_MS);
  expect(said()).toEqual(['weir.instance.recovered degraded: redis', 'weir.instance.recovered control: stale']);
  look([], 10 * QUIET_MS);
  expect(said()).toEqual([]);
});

test('a line that comes and goes has one event a minute, and the last state is said', () => {
  const { look, said } = following();
  for (let second = 0; second <= 600; second += 1) look(second % 2 === 0 ? ['redis'] : [], 1_000);
  look(['redis'], QUIET_MS);
  const events = said();
  expect(events.length).toBeLessThanOrEqual(12);
  expect(events.at(-1)).toBe('weir.instance.degraded redis');
  look([], QUIET_MS);
  expect(said()).toEqual(['weir.instance.recovered redis']);
});

test('each event has an id of its own, and the number of lines is bounded', () => {
  const { look, marks } = following();
  look(Array.from({ length: 1_000 }, (_, i) => `line ${i}`));
  expect(marks).toHaveLength(32);
  expect(new Set(marks.map(({ id }) => id)).size).toBe(32);
});
