/** Compares two limits: whether one admits all that the other admits, and whether what was used stays. */

import { TRAITS } from '../../domain/algorithm/algorithms';
import { DEFAULT_RESERVATION_TERMS, overdraftMaxOf, rateText, windowName, type Limit } from '../../domain/rule/limit';
import { WHOLE_AT, type Line, type SoftLine } from '../../domain/rule/soft/soft-line';
import { percentText } from '../../lib/value-texts';
import { together, type Change, type Direction } from './change';

/** The size of one limit in comparison with another. */
type Order = -1 | 0 | 1;

/** `100/minute`, with algorithm, burst and calendar where they are not those of the plainest limit. */
export function limitText(limit: Limit): string {
  const { requestsPerUnit, unitMultiplier, algorithm, capacity, calendar, name } = limit;
  if (algorithm === 'in_flight') return `${requestsPerUnit} in flight, held for ${unitMultiplier} s`;
  const parts = [`${rateText(limit)} ${algorithm}`];
  if (capacity !== requestsPerUnit) parts.push(`at most ${capacity} at once`);
  if (calendar !== undefined) parts.push(`calendar of ${calendar.timeZone}`);
  if (name !== '') parts.push(`named ${name}`);
  return parts.join(', ');
}

/** Limits that count alike share a bucket, whatever their size. */
function countsIn(limit: Limit): string {
  const { keyLetters, holds } = TRAITS[limit.algorithm];
  return holds === 'slots' ? keyLetters : `${keyLetters} ${windowName(limit)}`;
}

/** The changes from one limit to another of the same rule; empty: they mean the same. */
export function compareLimits(from: Limit, to: Limit): readonly Change[] {
  const startsEmpty = countsIn(from) !== countsIn(to);
  const size = sizeDirection(from, to);
  const changes: Change[] = [];
  if (size !== 'none' || startsEmpty || from.name !== to.name)
    changes.push({ what: 'limit', from: limitText(from), to: limitText(to), direction: size, startsEmpty });
  for (const { what, of, direction } of TERMS) {
    const [before, after] = [of(from), of(to)];
    if (before !== after) changes.push({ what, from: before, to: after, direction: direction(from, to), startsEmpty: false });
  }
  return changes;
}

/**
 * Requests with equal hits, from an unused bucket: a limit is looser if at every time it has admitted at least as many.
 *
 * Token and leaky buckets compare by their rate and their capacity: with both at least as large, the level of the looser one is never
 * lower after the same arrivals. Windows compare only with the same window, since others begin or forget at other times.
 */
function sizeDirection(from: Limit, to: Limit): Direction {
  if (to.algorithm !== from.algorithm) return 'both';
  if (from.algorithm === 'in_flight') return inOrder(order(to.capacity, from.capacity), order(from.windowUs, to.windowUs));
  if (TRAITS[from.algorithm].restores === 'evenly') return inOrder(orderOfRates(to, from), order(to.capacity, from.capacity));
  if (windowName(to) !== windowName(from)) return 'both';
  return inOrder(order(to.requestsPerUnit, from.requestsPerUnit));
}

function inOrder(...orders: readonly Order[]): Direction {
  return together(orders.map((each) => (each === 0 ? 'none' : each > 0 ? 'looser' : 'stricter')));
}

function order(one: number, other: number): Order {
  return one === other ? 0 : one > other ? 1 : -1;
}

/** Exact: windows and numbers are whole, and their products may exceed 2^53. */
function orderOfRates(one: Limit, other: Limit): Order {
  const left = BigInt(one.requestsPerUnit) * BigInt(other.windowUs);
  const right = BigInt(other.requestsPerUnit) * BigInt(one.windowUs);
  return left === right ? 0 : left > right ? 1 : -1;
}

interface Term {
  readonly what: string;
  readonly of: (limit: Limit) => string;
  readonly direction: (from: Limit, to: Limit) => Direction;
}

/** Lines deny nothing. */
function softText(lines: readonly SoftLine[]): string {
  return lines
    .map(({ at, requestHeaders, responseHeaders }) => `${percentText(at / WHOLE_AT)} ${JSON.stringify([requestHeaders, responseHeaders])}`)
    .join(', ');
}

function linesText(lines: readonly Line[]): string {
  return lines.map(({ at }) => percentText(at / WHOLE_AT)).join(', ');
}

const NEUTRAL = (): Direction => 'none';

const TERMS: readonly Term[] = [
  // It decides only while the store is away.
  { what: 'failure_mode', of: ({ failureMode = 'as the setting' }) => failureMode, direction: NEUTRAL },
  { what: 'response_headers', of: ({ responseHeaders = 'as the setting' }) => responseHeaders, direction: NEUTRAL },
  {
    what: 'response_body',
    of: ({ responseBody }) => (responseBody === undefined ? 'as the setting' : JSON.stringify(responseBody)),
    direction: NEUTRAL,
  },
  { what: 'soft', of: ({ soft }) => (soft === undefined ? 'none' : softText(soft)), direction: NEUTRAL },
  { what: 'show', of: ({ show }) => (show === undefined ? 'hits' : `${show.unit} of ${show.divide}`), direction: NEUTRAL },
  { what: 'events', of: ({ events }) => (events === undefined ? 'none' : linesText(events)), direction: NEUTRAL },
  { what: 'leases', of: ({ leases = 'as the setting' }) => leases, direction: NEUTRAL },
  // A report that was a request like others, or the reverse, changes what is left for all.
  { what: 'overdraft', of: (limit) => String(overdraftMaxOf(limit) ?? 'none'), direction: () => 'both' },
  {
    what: 'reservations',
    of: ({ reservations: { maxShare, onLapse } = DEFAULT_RESERVATION_TERMS }) => `at most ${maxShare}, on lapse ${onLapse}`,
    direction: (from, to) => {
      const [before, after] = [from.reservations ?? DEFAULT_RESERVATION_TERMS, to.reservations ?? DEFAULT_RESERVATION_TERMS];
      const lapse = before.onLapse === after.onLapse ? 'none' : after.onLapse === 'release' ? 'looser' : 'stricter';
      return together([inOrder(order(after.maxShare, before.maxShare)), lapse]);
    },
  },
  { what: 'candidate', of: ({ candidate }) => (candidate === undefined ? 'none' : limitText(candidate)), direction: NEUTRAL },
];

/** The changes of a list of limits that all apply. Limits belong together by name, then by the bucket they count in, then by place. */
export function compareLimitLists(from: readonly Limit[], to: readonly Limit[]): readonly Change[] {
  const pairs: [Limit, Limit][] = [];
  let [left, right] = [[...from], [...to]];
  for (const keyOf of [
    (limit: Limit) => `${limit.name} ${countsIn(limit)}`,
    ({ name }: Limit) => name || undefined,
    countsIn,
    ({ algorithm }: Limit) => String(algorithm === 'in_flight'),
  ]) {
    for (const limit of left) {
      const key = keyOf(limit);
      const other = key === undefined ? undefined : right.find((each) => keyOf(each) === key);
      if (other === undefined) continue;
      pairs.push([limit, other]);
      right = right.filter((each) => each !== other);
    }
    const paired = new Set(pairs.map(([limit]) => limit));
    left = left.filter((limit) => !paired.has(limit));
  }
  return [
    ...pairs.flatMap(([one, other]) => compareLimits(one, other)),
    ...left.map((limit): Change => ({ what: 'limit', from: limitText(limit), direction: 'looser', startsEmpty: false })),
    ...right.map((limit): Change => ({ what: 'limit', to: limitText(limit), direction: 'stricter', startsEmpty: false })),
  ];
}
