/** The log reports how long a breaker was open and what passed, with summaries at growing periods. */

import { AbsenceLog, SUMMARY_MS, LOGGED_MAX } from '../../../../src/server/observability/log/absence-log';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

function open() {
  const lines: string[] = [];
  const passed = { decisions: 0, hits: 0 };
  const say = (level: string) => (_fields: unknown, sentence: unknown) => {
    lines.push(`${level} ${String(sentence)}`);
  };
  const log = { error: say('ERROR'), warn: say('WARN'), info: say('INFO') };
  const absence = new AbsenceLog({
    log: log as never,
    nowMs: () => performance.now(),
    passed: () => ({ ...passed }),
    again: () => 'it was lost',
    codes: { away: 'redis_lost', back: 'redis_connected' },
    address: () => 'redis://h:1/0',
  });
  const beAway = (ms: number): void => {
    absence.begin('gone', 'no answer');
    jest.advanceTimersByTime(ms);
    passed.decisions += 10;
    passed.hits += 7;
    absence.end('back');
  };
  return { lines, absence, beAway };
}

test('a few outages are each logged when they begin, and with their length and admitted hits when they end', () => {
  const { lines, beAway } = open();
  beAway(1_500);
  beAway(250);
  expect(lines).toEqual([
    'ERROR gone',
    'INFO back after 1.5 s; meanwhile 10 requests were decided without Redis, which admitted 7 hits',
    'ERROR gone',
    'INFO back after 0.3 s; meanwhile 10 requests were decided without Redis, which admitted 7 hits',
  ]);
});

test('further outages become one line at the end of the minute, and are logged singly after a quiet minute', () => {
  const { lines, beAway } = open();
  for (let time = 0; time < LOGGED_MAX + 8; time += 1) beAway(500);
  expect(lines).toHaveLength(2 * LOGGED_MAX);
  jest.advanceTimersByTime(SUMMARY_MS);
  expect(lines.slice(2 * LOGGED_MAX)).toEqual([
    'WARN it was lost 8 more times within 60 s (last: no answer), 4.0 s in total; meanwhile 80 requests were decided without Redis, which admitted 56 hits',
  ]);
  jest.advanceTimersByTime(SUMMARY_MS);
  beAway(100);
  expect(lines.slice(2 * LOGGED_MAX + 1)).toHaveLength(2);
});

test('an outage that lasts past the minute is logged then, and so is its end', () => {
  const { lines, absence, beAway } = open();
  for (let time = 0; time < LOGGED_MAX; time += 1) beAway(500);
  absence.begin('gone', 'no answer');
  // One that is away already is not gone once more.
  absence.begin('gone', 'something else');
  jest.advanceTimersByTime(SUMMARY_MS);
  absence.end('back');
  expect(lines.slice(2 * LOGGED_MAX)).toEqual([
    expect.stringMatching(/^WARN it was lost 1 more times within 60 s \(last: no answer\), .* s in total; .*; still down$/),
    expect.stringMatching(/^INFO back after .* s; /),
  ]);
});

test('an outage that comes and goes for hours has a summary for periods that grow, up to an hour', () => {
  const { lines, beAway } = open();
  // 20 s away and 20 s back, for four hours.
  for (let time = 0; time < 360; time += 1) {
    beAway(20_000);
    jest.advanceTimersByTime(20_000);
  }
  const summaries = lines.filter((line) => line.startsWith('WARN'));
  expect(summaries.map((line) => /within (\d+) s/.exec(line)?.[1])).toEqual(['60', '120', '240', '480', '960', '1920', '3840', '3840']);
  expect(lines.length).toBeLessThanOrEqual(2 * LOGGED_MAX + 2 * summaries.length);
});

test('in a long period an outage after a quiet minute is logged at once, and one that lasts for a minute then', () => {
  const { lines, absence, beAway } = open();
  for (let time = 0; time < 40; time += 1) {
    beAway(20_000);
    jest.advanceTimersByTime(20_000);
  }
  let before = lines.length;
  jest.advanceTimersByTime(SUMMARY_MS);
  beAway(1_000);
  expect(lines.slice(before)).toEqual([
    expect.stringMatching(/^WARN it was lost \d+ more times within \d+ s .* in total/),
    'ERROR gone',
    expect.stringMatching(/^INFO back after 1.0 s/),
  ]);
  for (let time = 0; time < 40; time += 1) {
    beAway(20_000);
    jest.advanceTimersByTime(20_000);
  }
  before = lines.length;
  absence.begin('gone', 'no answer');
  jest.advanceTimersByTime(SUMMARY_MS + 1);
  absence.end('back');
  expect(lines.slice(before)).toEqual([expect.stringMatching(/^WARN .*; still down$/), expect.stringMatching(/^INFO back after 60.0 s/)]);
});
