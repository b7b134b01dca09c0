/** Calendar windows are right for days of 23 and 25 hours, ends of months, and every time zone. */

import { DateTime } from 'luxon';
import { calendarEdgesUs, isTimeZone, type Calendar } from '../../../src/domain/descriptor/calendar';
import { expectSame } from '../../support/random/expect-same';
import { isLong } from '../../support/random/form';
import { randomFrom } from '../../support/random/random';

function us(iso: string): number {
  return Date.parse(iso) * 1000;
}

/** The edges as UTC instants, to the minute. */
function edges(calendar: Partial<Calendar>, at: string): string[] {
  const whole: Calendar = { unit: 'month', unitMultiplier: 1, timeZone: 'UTC', ...calendar };
  return calendarEdgesUs(whole, us(at)).map((edgeUs) => new Date(edgeUs / 1000).toISOString().slice(0, 16));
}

test.each<[string, Partial<Calendar>, string, string[]]>([
  [
    'a month of 30 days between two of 31',
    {},
    '2026-11-21T10:00:00Z',
    ['2026-10-01T00:00', '2026-11-01T00:00', '2026-12-01T00:00', '2027-01-01T00:00'],
  ],
  ['February', {}, '2026-02-28T23:59:59Z', ['2026-01-01T00:00', '2026-02-01T00:00', '2026-03-01T00:00', '2026-04-01T00:00']],
  ['February of a leap year', {}, '2028-02-29T12:00:00Z', ['2028-01-01T00:00', '2028-02-01T00:00', '2028-03-01T00:00', '2028-04-01T00:00']],
  [
    'the first microsecond of a month',
    {},
    '2026-03-01T00:00:00Z',
    ['2026-02-01T00:00', '2026-03-01T00:00', '2026-04-01T00:00', '2026-05-01T00:00'],
  ],
  [
    'a quarter',
    { unitMultiplier: 3 },
    '2026-11-21T10:00:00Z',
    ['2026-07-01T00:00', '2026-10-01T00:00', '2027-01-01T00:00', '2027-04-01T00:00'],
  ],
  ['a year', { unit: 'year' }, '2026-11-21T10:00:00Z', ['2025-01-01T00:00', '2026-01-01T00:00', '2027-01-01T00:00', '2028-01-01T00:00']],
  [
    'a week begins on Monday',
    { unit: 'week' },
    '2026-11-21T10:00:00Z',
    ['2026-11-09T00:00', '2026-11-16T00:00', '2026-11-23T00:00', '2026-11-30T00:00'],
  ],
  [
    'two weeks',
    { unit: 'week', unitMultiplier: 2 },
    '2026-11-21T10:00:00Z',
    ['2026-11-02T00:00', '2026-11-16T00:00', '2026-11-30T00:00', '2026-12-14T00:00'],
  ],
  [
    'a month in Berlin begins an hour before it does in UTC',
    { timeZone: 'Europe/Berlin' },
    '2026-11-30T23:30:00Z',
    ['2026-10-31T23:00', '2026-11-30T23:00', '2026-12-31T23:00', '2027-01-31T23:00'],
  ],
  [
    'a day of 23 hours',
    { unit: 'day', timeZone: 'Europe/Berlin' },
    '2026-03-29T12:00:00Z',
    ['2026-03-27T23:00', '2026-03-28T23:00', '2026-03-29T22:00', '2026-03-30T22:00'],
  ],
  [
    'a day of 25 hours',
    { unit: 'day', timeZone: 'Europe/Berlin' },
    '2026-10-25T12:00:00Z',
    ['2026-10-23T22:00', '2026-10-24T22:00', '2026-10-25T23:00', '2026-10-26T23:00'],
  ],
  [
    'a day without a midnight',
    { unit: 'day', timeZone: 'America/Sao_Paulo' },
    '2018-11-04T12:00:00Z',
    ['2018-11-03T03:00', '2018-11-04T03:00', '2018-11-05T02:00', '2018-11-06T02:00'],
  ],
  [
    'an offset of 5:45',
    { unit: 'day', timeZone: 'Asia/Kathmandu' },
    '2026-11-21T18:20:00Z',
    ['2026-11-20T18:15', '2026-11-21T18:15', '2026-11-22T18:15', '2026-11-23T18:15'],
  ],
  [
    'five days, over a change of the clock',
    { unit: 'day', unitMultiplier: 5, timeZone: 'Europe/Berlin' },
    '2026-10-25T12:00:00Z',
    ['2026-10-18T22:00', '2026-10-23T22:00', '2026-10-28T23:00', '2026-11-02T23:00'],
  ],
])('%s', (_what, calendar, at, expected) => {
  expect(edges(calendar, at)).toEqual(expected);
});

const HOUR_US = 3_600_000_000;

/** Three years in the long form, one of them in the short form; with the first days of the next year, in which its last windows end. */
function spanToTry(): { readonly fromUs: number; readonly endUs: number } {
  const year = 2024 + randomFrom()(3);
  return isLong
    ? { fromUs: us('2024-01-01T00:30:00Z'), endUs: us('2027-01-01T00:00:00Z') }
    : { fromUs: us(`${year}-01-01T00:30:00Z`), endUs: us(`${year + 1}-01-09T00:00:00Z`) };
}

/** Every 23 hours, and every half hour of the days around a change of the clock. */
function timesToTry(timeZone: string): number[] {
  const { fromUs, endUs } = spanToTry();
  const times: number[] = [];
  const offsetAt = (atUs: number) => DateTime.fromMillis(atUs / 1000, { zone: timeZone }).offset;
  for (let atUs = fromUs; atUs < endUs; atUs += 23 * HOUR_US) {
    const halfHours = offsetAt(atUs) === offsetAt(atUs + 23 * HOUR_US) ? 1 : 46;
    for (let i = 0; i < halfHours; i += 1) times.push(atUs + (i * HOUR_US) / 2);
  }
  return times;
}

test.each([
  'UTC',
  'Europe/Berlin',
  'America/Sao_Paulo',
  'Pacific/Apia',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Asia/Beirut',
  'America/Havana',
])('in %s each time lies in its window, and a window ends where the next begins', (timeZone) => {
  const times = timesToTry(timeZone);
  for (const unit of ['day', 'week', 'month'] as const) {
    let [lastStartUs, lastEndUs] = [NaN, NaN];
    for (const nowUs of times) {
      const [, startUs = NaN, endUs = NaN] = calendarEdgesUs({ unit, unitMultiplier: 1, timeZone }, nowUs);
      const isSame = startUs === lastStartUs && endUs === lastEndUs;
      const isNext = startUs === lastEndUs || Number.isNaN(lastEndUs);
      expectSame(
        { unit, nowUs, holds: startUs <= nowUs && nowUs < endUs, follows: isSame || isNext },
        { unit, nowUs, holds: true, follows: true },
      );
      [lastStartUs, lastEndUs] = [startUs, endUs];
    }
  }
});

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Mars/Olympus', false],
  ['local', false],
  ['system', false],
  ['', false],
])('time zone %j is rejected: %s', (name, known) => {
  expect(isTimeZone(name)).toBe(known);
});
