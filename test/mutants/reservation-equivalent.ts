/** Mutants of reservations that change nothing anyone can see, and those that these lives do not reach; each is named by its id. */

const NEVER_NONE = 'it is called for hits other than 0 alone';
const UNREAD = 'what a leg that is given back answers is not looked at';
const CUT_ANEW = 'the adjustment sets it';
const ONLY_CHARGED = 'nothing of an unknown reservation is given back';
const NO_HITS = 'an adjustment of 0 hits changes nothing';

export const RESERVATION_EQUIVALENT: Readonly<Record<string, string>> = {
  "include/reservation.lua main: local RECORD_HEAD = '^' .. string.rep('(%d+) ', 8) .. '(%d+)()' | '^' -> ''":
    'a record begins with its numbers, so the first match is there either way',
  'include/reservation.lua pack_record: numbers[#numbers + 1] = max(0, record.used_before[leg]) | 0 -> (-1)':
    'hits used before are never below zero: those of the leg are off them',
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
const NO_RECORD = 'something else in place of a record, which a caller refuses before it asks for a step';
const RACE = 'a step of another instance between the read and the adjustment';
const CALENDAR = 'an adjustment outside the windows of a calendar';

/** What it would take to see them. */
export const RESERVATION_UNREACHED: Readonly<Record<string, string>> = {
  'include/reservation.lua main: local HELD, COMMITTED, RELEASED, LAPSED = 1, 2, 3, 4 | 3 -> 2': RACE,
  'include/reservation.lua unpack_record: if not (state and plan_at) then | and -> or': NO_RECORD,
  'include/reservation.lua is_settled: if record.state == COMMITTED or record.state == RELEASED then | or -> and': RACE,
  'include/reservation.lua is_settled: return true | true -> false': RACE,
  'include/reservation.lua settle_leg: if leg.bucket.state ~= false then | false -> true': UNREADABLE,
  'include/reservation.lua settle_leg: local applied = 0 | 0 -> 1': UNREADABLE,
  'include/reservation.lua settle_leg: local applied = 0 | 0 -> (-1)': UNREADABLE,
  'include/reservation.lua settle_leg: return hits - max(0, applied) | 0 -> (-1)': CALENDAR,
};
