/** Mutants of reservations that change nothing anyone can see, and those that these lives do not reach; each is named by its id. */

const ANCHORED = 'the first line ends at the first line break either way, and the plan at the end';
const UNSETTLED = 'both are 0 until the record is settled, and a settled one is not written again';
const NEVER_NONE = 'it is called for hits other than 0 alone';
const UNREAD = 'what a leg that is given back answers is not looked at';
const CUT_ANEW = 'the settlement sets it';
const ONLY_CHARGED = 'nothing of an unknown reservation is given back';
const NO_HITS = 'a settlement of 0 hits changes nothing';

export const RESERVATION_EQUIVALENT: Readonly<Record<string, string>> = {
  "include/reservation.lua unpack_record: local head, plan = match(value, '^([^\\n]*)\\n(.*)$') | '^([^\\n]*)\\n(.*)$' -> '([^\\n]*)\\n(.*)$'":
    ANCHORED,
  "include/reservation.lua unpack_record: local head, plan = match(value, '^([^\\n]*)\\n(.*)$') | '^([^\\n]*)\\n(.*)$' -> '^([^\\n]*)\\n(.*)'":
    ANCHORED,
  'include/reservation.lua unpack_record: expires_us = numbers[6], keep_us = numbers[7], actual = numbers[8], cut = numbers[9], | 8 -> 9':
    UNSETTLED,
  'include/reservation.lua unpack_record: expires_us = numbers[6], keep_us = numbers[7], actual = numbers[8], cut = numbers[9], | 9 -> 8':
    UNSETTLED,
  'include/reservation.lua pack_record: numbers[#numbers + 1] = max(0, record.used_before[leg]) | 0 -> (-1)':
    'hits used before are never below zero: those of the leg are off them',
  'include/reservation.lua pack_record: for i = 1, #numbers do | 1 -> 2': 'a state is one digit, however it is written',
  'include/reservation.lua charged_legs: for i = #names, 1, -1 do | 1 -> 0': 'one further entry under 0, which nobody reads',
  'include/reservation.lua charged_legs: charged[i], used_before[i] = 0, 0 | 0 -> (-1) #2': 'is written down as 0',
  "include/reservation.lua unknown_record: actual = 0, cut = 0, charged = {}, used_before = {}, plan = '', | 0 -> 1 #2": CUT_ANEW,
  "include/reservation.lua unknown_record: actual = 0, cut = 0, charged = {}, used_before = {}, plan = '', | 0 -> (-1) #2": CUT_ANEW,
  'include/reservation.lua unknown_record: record.charged[i], record.used_before[i] = 0, 0 | 0 -> 1 #2': ONLY_CHARGED,
  'include/reservation.lua unknown_record: record.charged[i], record.used_before[i] = 0, 0 | 0 -> (-1) #2': ONLY_CHARGED,
  'include/reservation.lua unknown_record: for i = 1, leg_count do | 1 -> 0': 'one further entry under 0, which nobody reads',
  'include/reservation.lua settle_leg: if hits < 0 then | < -> <=': NEVER_NONE,
  'include/reservation.lua settle_leg: if hits < 0 then | 0 -> 1': NEVER_NONE,
  'include/reservation.lua settle_leg: return 0 | 0 -> 1': UNREAD,
  'include/reservation.lua settle_leg: return 0 | 0 -> (-1)': UNREAD,
  'include/reservation.lua settle_record: if hits < 0 then | < -> <=': NO_HITS,
  'include/reservation.lua settle_record: if hits < 0 then | 0 -> 1': NO_HITS,
  'include/reservation.lua settle_record: record.cut = 0 | statement dropped': 'of what is not settled yet it is 0',
  'include/reservation.lua settle_record: if hits > 0 then | > -> >=': NO_HITS,
  'include/reservation.lua settle_record: if hits > 0 then | 0 -> (-1)': NO_HITS,
};

const UNREADABLE = 'something else under the key of a bucket';
const RACE = 'a step of another instance between the read and the settlement';
const CALENDAR = 'a settlement outside the windows of a calendar';

/** What it would take to see them. */
export const RESERVATION_UNREACHED: Readonly<Record<string, string>> = {
  'include/reservation.lua main: local HELD, COMMITTED, RELEASED, LAPSED = 1, 2, 3, 4 | 3 -> 2': RACE,
  'include/reservation.lua is_settled: if record.state == COMMITTED or record.state == RELEASED then | or -> and': RACE,
  'include/reservation.lua is_settled: return true | true -> false': RACE,
  'include/reservation.lua settle_leg: if leg.bucket.state ~= false then | false -> true': UNREADABLE,
  'include/reservation.lua settle_leg: local applied = 0 | 0 -> 1': UNREADABLE,
  'include/reservation.lua settle_leg: local applied = 0 | 0 -> (-1)': UNREADABLE,
  'include/reservation.lua settle_leg: return hits - max(0, applied) | 0 -> (-1)': CALENDAR,
};
