/** The shape of `rate_limit` and `rate_limits`: what a descriptor says of its limits, before anything is made of it. */

import { isTimeZone } from '../rule/calendar';
import { ALGORITHMS, DEFAULT_RESERVATION_TERMS, FAILURE_MODES, ON_LAPSE, RESPONSE_HEADERS, type Algorithm, type FailureMode, type ReservationTerms, type ResponseHeaders } from '../rule/limit';
import { UNIT_NAMES, type UnitName } from '../rule/unit';
import type { ConfigNode } from './config-node';
import { MapReader, type Located } from './map-reader';
import type { FileProblems, PlacedInFile } from './problem-list';
import { joinPath, show } from './show';

/** Limits of one descriptor. Each is a bucket more for every request that matches. */
export const LIMITS_MAX = 16;

export type RateLimitSpec = UnlimitedSpec | LimitedSpec;

export interface ReplacedName extends Located<string> {
  readonly path: string;
}

interface Named {
  /** `""` if it has none. */
  readonly name: string;
  /** Names of limits that do not apply to a request to which this one does. */
  readonly replaces: readonly ReplacedName[];
}

export interface UnlimitedSpec extends Named {
  readonly kind: 'unlimited';
}

export interface LimitedSpec extends Named, PlacedInFile {
  readonly kind: 'limited';
  readonly unit: Located<UnitName>;
  readonly requestsPerUnit?: Located<number>;
  /** Also when what it gives is refused. */
  readonly givesRequestsPerUnit: boolean;
  readonly unitMultiplier?: Located<number>;
  readonly burst?: Located<number>;
  readonly algorithm?: Algorithm;
  readonly calendar?: Located<boolean>;
  readonly timeZone?: Located<string>;
  readonly failureMode?: FailureMode;
  readonly responseHeaders?: ResponseHeaders;
  readonly overdraft?: Located<boolean>;
  readonly overdraftMax?: Located<number>;
  readonly reservations?: ReservationTerms;
}

export const ALGORITHM_CHOICE = { names: ALGORITHMS, what: 'algorithm' };
export const FAILURE_MODE_CHOICE = { names: FAILURE_MODES, what: 'failure mode' };
export const RESPONSE_HEADERS_CHOICE = { names: RESPONSE_HEADERS, what: 'kind of response headers' };
const ON_LAPSE_CHOICE = { names: ON_LAPSE, what: 'way to lapse' };
const UNIT_CHOICE = { names: UNIT_NAMES, what: 'unit' };

/** They say how a limit counts; what is unlimited is not counted. */
const COUNTING_FIELDS = ['requests_per_unit', 'unit_multiplier', 'burst', 'algorithm', 'calendar', 'time_zone', 'failure_mode', 'response_headers', 'overdraft', 'overdraft_max', 'reservations'];

export interface Place {
  readonly path: string;
  readonly problems: FileProblems;
}

/** The limits of a descriptor: of `rate_limit` one, of `rate_limits` as many as it lists. */
export function readLimits(descriptor: MapReader, { path, problems }: Place): RateLimitSpec[] {
  const one = descriptor.child('rate_limit');
  const list = descriptor.list('rate_limits');
  const onePath = joinPath(path, 'rate_limit');
  const listPath = joinPath(path, 'rate_limits');
  if (list === undefined) return one === undefined ? [] : [readRateLimit(one, { path: onePath, problems })].flatMap(present);
  const report = (message: string) => {
    problems.report({ offset: list.offset, path: listPath, message });
  };
  if (one !== undefined) report('must not stand beside rate_limit; move that limit into the list');
  if (list.items.length === 0) report('is empty; list at least one limit, or leave it out');
  if (list.items.length > LIMITS_MAX) report(`has ${list.items.length} limits; ${LIMITS_MAX} is the most`);
  const limits = list.items.flatMap((item, index) => present(readRateLimit(item, { path: `${listPath}[${index}]`, problems })));
  if (limits.some(({ kind }) => kind === 'unlimited')) report('holds unlimited: true, which no other limit can stand beside; use rate_limit');
  return limits;
}

function present<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}

function readRateLimit(node: ConfigNode, { path, problems }: Place): RateLimitSpec | undefined {
  const reader = MapReader.open(node, { level: 'rate_limit', path, problems });
  if (reader === undefined) return undefined;
  const unlimited = reader.flag('unlimited')?.value === true;
  const named = readNames(reader, { path, problems });
  // Read in either case: a bad value is a mistake even where it would mean nothing.
  const limited = readLimited(reader, { path, problems, named });
  if (!unlimited) {
    if (limited === undefined && reader.child('unit') === undefined) {
      reader.reportMissing('unit', `use one of ${UNIT_NAMES.join(', ')}`);
    }
    return limited;
  }
  const unit = reader.child('unit');
  if (unit !== undefined) {
    const message = 'must not stand beside unlimited: true; remove one of them';
    problems.report({ offset: unit.offset, path: joinPath(path, 'unit'), message });
  }
  warnOfCounting(reader, { path, problems });
  return { kind: 'unlimited', ...named };
}

function warnOfCounting(reader: MapReader, { path, problems }: Place): void {
  for (const field of COUNTING_FIELDS) {
    const node = reader.child(field);
    if (node === undefined) continue;
    problems.warn({ offset: node.offset, path: joinPath(path, field), message: 'has no effect beside unlimited: true; remove it' });
  }
}

/** Undefined without a usable unit. */
function readLimited(reader: MapReader, { path, problems, named }: Place & { named: Named }): LimitedSpec | undefined {
  const unit = reader.choice('unit', UNIT_CHOICE);
  const requestsPerUnit = reader.uint32('requests_per_unit');
  const unitMultiplier = reader.uint32('unit_multiplier');
  const burst = reader.uint32('burst');
  const algorithm = reader.choice('algorithm', ALGORITHM_CHOICE);
  const calendar = reader.flag('calendar');
  const timeZone = readTimeZone(reader, { path, problems });
  const failureMode = reader.choice('failure_mode', FAILURE_MODE_CHOICE);
  const responseHeaders = reader.choice('response_headers', RESPONSE_HEADERS_CHOICE);
  const overdraft = reader.flag('overdraft');
  const overdraftMax = reader.uint32('overdraft_max');
  const reservations = readReservations(reader, { path, problems });
  if (unit === undefined) return undefined;
  return {
    kind: 'limited',
    ...named,
    unit,
    offset: reader.offset,
    path,
    problems,
    ...(requestsPerUnit && { requestsPerUnit }),
    givesRequestsPerUnit: reader.child('requests_per_unit') !== undefined,
    ...(unitMultiplier && { unitMultiplier }),
    ...(burst && { burst }),
    ...(algorithm && { algorithm: algorithm.value }),
    ...(calendar && { calendar }),
    ...(timeZone && { timeZone }),
    ...(failureMode && { failureMode: failureMode.value }),
    ...(responseHeaders && { responseHeaders: responseHeaders.value }),
    ...(overdraft && { overdraft }),
    ...(overdraftMax && { overdraftMax }),
    ...(reservations && { reservations }),
  };
}

function readReservations(reader: MapReader, { path, problems }: Place): ReservationTerms | undefined {
  const node = reader.child('reservations');
  const terms = node && MapReader.open(node, { level: 'reservations', path: joinPath(path, 'reservations'), problems });
  if (terms === undefined) return undefined;
  const { maxShare, onLapse } = DEFAULT_RESERVATION_TERMS;
  return { maxShare: terms.share('max_share')?.value ?? maxShare, onLapse: terms.choice('on_lapse', ON_LAPSE_CHOICE)?.value ?? onLapse };
}

function readTimeZone(reader: MapReader, { path, problems }: Place): Located<string> | undefined {
  const timeZone = reader.text('time_zone');
  if (timeZone === undefined || isTimeZone(timeZone.value)) return timeZone;
  const message = `${show(timeZone.value)} is no time zone known here; use an IANA name, such as Europe/Berlin`;
  problems.report({ offset: timeZone.offset, path: joinPath(path, 'time_zone'), message });
  return undefined;
}

/** The name of a limit, as headers can have it; `""` if it has none. */
export function readName(reader: MapReader, { path, problems }: Place): string {
  const given = reader.text('name');
  const name = headerSafe(given?.value ?? '');
  if (given !== undefined && name !== given.value) {
    const message = `${show(given.value)} holds control characters, which no header can; each is taken as a ?`;
    problems.warn({ rule: 'control-characters', offset: given.offset, path: joinPath(path, 'name'), message });
  }
  return name;
}

function readNames(reader: MapReader, { path, problems }: Place): Named {
  const name = readName(reader, { path, problems });
  const replacesPath = joinPath(path, 'replaces');
  const replaces = (reader.list('replaces')?.items ?? []).flatMap((item, index) => {
    const itemPath = `${replacesPath}[${index}]`;
    const replaced = MapReader.open(item, { level: 'replaces', path: itemPath, problems })?.requiredText('name');
    if (replaced === undefined) return [];
    if (headerSafe(replaced.value) === name) {
      const message = `${show(name)} is the limit's own name; a limit can't replace itself`;
      problems.report({ offset: replaced.offset, path: joinPath(itemPath, 'name'), message });
    }
    return [{ offset: replaced.offset, value: headerSafe(replaced.value), path: joinPath(itemPath, 'name') }];
  });
  return { name, replaces };
}

/** Envoy writes the name of a limit into a header of the response as it stands: a line break would begin another header. */
function headerSafe(name: string): string {
  return name.replace(/\p{Cc}/gu, '?');
}
