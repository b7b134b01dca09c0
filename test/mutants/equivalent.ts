/** Mutants that change nothing anyone can see, and why, or nothing that a scenario can, and which test does; each is named by its id. */

const SAME_DIGITS = 'at a product of exactly 2^53 - 1 both branches are exact: the long way gives the same digits';
const UNUSED_REST =
  'an unused bucket is deleted, and advanced by a later group of the run, which makes it anew: until then nobody asks for its rest, for hits that are at most the capacity need no wait';
const NOTHING_TO_APPLY = 'of a denied group without usage reports no hits are charged and no refund is applied: to try costs time alone';
const NO_HITS = 'a check has 0 hits, and adding 0 to the charge or to the refund is the same';
const NONE_GIVEN = 'none is given back then, and adjust_bucket leaves the state as it was, whichever it is handed';
const FORGOTTEN = 'a bucket left with 0 used is forgotten, whatever its rest';
const LONG_WAY = 'a group that could be decided the short way is decided the long way, which comes to the same';
const REFUSED = 'seen only where Redis refuses a later write of a run: test/lua/refused-write.test.ts';
const LEFT_TO_GENERAL = 'a group that could be decided in one pass is left to the general path, which comes to the same';
const LAST_TAKE = 'a take has three arguments at least: its first one is found with one less';
const NO_PLACE_0 = 'nothing stands at place 0';
const DIGITS = 'digits are converted wherever they are used: to do so earlier saves time alone';
const NO_PLAIN_CHECK = 'a take of a plain group has at least 1 hit';
const EMPTY = 'an empty token bucket has the level 0 either way';
const NEVER_SO_MANY = 'no command brings so many keys';
const CARRIED_LATER = 'the factor is below the divisor, so the next step carries the one that this step leaves';
const EITHER_FORM = 'both readers take this number in either form: only larger ones must be texts';
const NO_CHARGE = 'an adjustment of 0 hits applies none as a charge either';

export const EQUIVALENT: Readonly<Record<string, string>> = {
  'include/numbers.lua in_reply: if number > 9007199254740944 or number < -9007199254740944 then | - -> nothing':
    'small numbers as texts, which the store refuses: test/contract/redis-store.test.ts',
  'include/arithmetic.lua multiply_divide: if below >= 0 then | >= -> >': CARRIED_LATER,
  'include/arithmetic.lua multiply_divide: if below >= 0 then | 0 -> 1': CARRIED_LATER,
  'include/arithmetic.lua multiply_divide: if below >= 0 then | 0 -> (-1)':
    'seen only at a remainder of half the divisor, less a half: test/parity/arithmetic.test.ts',
  'include/numbers.lua in_reply: if number > 9007199254740944 or number < -9007199254740944 then | > -> >=': EITHER_FORM,
  'include/numbers.lua in_reply: if number > 9007199254740944 or number < -9007199254740944 then | < -> <=': EITHER_FORM,
  'include/numbers.lua in_reply: if number > 9007199254740944 or number < -9007199254740944 then | 9007199254740944 -> 9007199254740943':
    EITHER_FORM,
  'include/numbers.lua in_reply: if number > 9007199254740944 or number < -9007199254740944 then | 9007199254740944 -> 9007199254740943 #2':
    EITHER_FORM,
  'include/buckets.lua write_buckets: if first < bucket_count and not pcall(write_from, first + 1) then | < -> <=':
    'one further call, from behind the last bucket on, which writes none',
  'include/buckets.lua engine_of: engines[code] = engine | statement dropped':
    'an algorithm that is made anew is the same; it only costs more',
  'include/limit.lua limit_at: if edge_count > 0 then | 0 -> 1': 'windows have two edges at least',
  'include/limit.lua limit_at: for i = 1, edge_count do | 1 -> 0':
    'one further entry under 0, which neither #edges_us nor the search, from 2 on, ever sees',
  'include/token-bucket.lua unpack: return part > 0 and { used = used + 1, rest = window_us - part, at_us = at_us } or { used = used, rest = 0, at_us = at_us } | > -> >=':
    'one hit more and the progress of a whole one are the same level, and advance, which is called before any other use, counts them so',
  'include/token-bucket.lua unpack: return part > 0 and { used = used + 1, rest = window_us - part, at_us = at_us } or { used = used, rest = 0, at_us = at_us } | 0 -> (-1)':
    'one hit more and the progress of a whole one are the same level, and advance, which is called before any other use, counts them so',
  'include/general-groups.lua read_shape: local shape = { shadow = flags % 2 == 1, quota_always_fits = flags % 4 >= 2, dry = flags >= 4, has_reports = nil, has_slots = nil, takes = {} } | 2 -> 1 #2':
    'concerns shadow without the flag of 2 alone: nothing is denied then, by quota or otherwise',
  'include/general-groups.lua take_of: is_peek = kind % 12 >= 6, | 12 -> 11':
    'of the kinds that there are 17 alone is taken for a peek, a release, which fits always as well',
  'include/general-groups.lua take_of: names_slot = kind >= 12, | 12 -> 11':
    'a take is never both a peek and a usage report, so kind 11 never occurs',
  "include/limit.lua slot_id_at: return struct.pack('>I4I4', tonumber(string.sub(digits, 1, 8), 16), tonumber(string.sub(digits, 9), 16)) | 1 -> 0":
    'a text begins at its first character, whether 0 or 1 is named',
  "include/limit.lua slot_id_at: return struct.pack('>I4I4', tonumber(string.sub(digits, 1, 8), 16), tonumber(string.sub(digits, 9), 16)) | 9 -> 8":
    'the digit more stands above the 32 bits that are packed',
  'include/arithmetic.lua multiply_divide: if product <= EXACT_MAX then | <= -> <': SAME_DIGITS,
  'include/arithmetic.lua refill: if parts <= EXACT_MAX then | <= -> <': SAME_DIGITS,
  'include/arithmetic.lua time_to_refill: if parts <= EXACT_MAX then | <= -> <': SAME_DIGITS,
  'include/token-bucket.lua refund: if hits >= state.used then | >= -> >': `only the rest differs, where all is given back: ${UNUSED_REST}`,
  'include/token-bucket.lua refund: return { used = 0, rest = 0, at_us = state.at_us } | 0 -> 1 #2': UNUSED_REST,
  'include/token-bucket.lua give_back: local flowed, lost_rest = refill(max(0, state.at_us - taken_at_us), 0, limit.requests, limit.window_us) | 0 -> (-1)':
    'less than nothing has flowed in then, which is taken for nothing: nothing is lost either way',
  'include/token-bucket.lua give_back: if given <= 0 then | <= -> <': NONE_GIVEN,
  'include/token-bucket.lua give_back: if given <= 0 then | 0 -> (-1)': NONE_GIVEN,
  'include/token-bucket.lua give_back: if used <= 0 then | <= -> <': FORGOTTEN,
  'include/token-bucket.lua give_back: if used <= 0 then | 0 -> (-1)': FORGOTTEN,
  'include/token-bucket.lua give_back: return { used = 0, rest = 0, at_us = state.at_us }, given | 0 -> 1 #2': FORGOTTEN,
  'include/token-bucket.lua give_back: return { used = 0, rest = 0, at_us = state.at_us }, given | 0 -> (-1) #2': FORGOTTEN,
  'include/fixed-window.lua window_at: local next_edge = 2 | 2 -> 1':
    'the first edge is never after now, since the group was asked for its windows before: the search goes on to 2',
  'include/sliding-window-log.lua unpack: if #value < 4 or (#value - 4) % RECORD_BYTES ~= 0 then | 4 -> 3':
    'concerns 3 bytes alone, and -1 % 11 is 10: the second test refuses them',
  'include/sliding-window-log.lua advance: if length == 0 or log_record(state, length) < now_us then | < -> <=':
    'a last record of now is cut off and put back, with the same time and total',
  'include/sliding-window-counter.lua elapsed_until: if hits <= allowed then | <= -> <':
    'where they are the same, the quotient is the window itself, and nothing is left to wait; 0 of 0 hits makes NaN, which math.max(0, ...) turns to 0; the next window is only asked for with more hits than allowed',
  'include/sliding-window-counter.lua elapsed_until: return 0 | 0 -> (-1)':
    'this window alone gets here, and takes math.max(0, ...) of it: -1 less what has elapsed is below 0 as well; the next window is only asked for with more hits than allowed',
  'include/adjust-bucket.lua adjust_bucket: if adjustment.hits > 0 then | > -> >=': NO_CHARGE,
  'include/adjust-bucket.lua adjust_bucket: if adjustment.hits > 0 then | 0 -> (-1)': NO_CHARGE,
  'include/decide-group.lua gather_buckets: if hits > 0 then | > -> >=': NO_HITS,
  'include/decide-group.lua decide_one: if hits <= 0 or limit.requests == 0 or take.slot_id then | 0 -> 1': LONG_WAY,
  'include/decide-group.lua decide_one: if hits > room or room == EXACT_MAX then | > -> >=': LONG_WAY,
  'include/decide-group.lua decide_group: local ends_at = times == 1 and #takes == 1 and not group.dry and decide_one(takes[1], now_us, reply, at) | 1 -> 0':
    LONG_WAY,
  'include/decide-group.lua gather_buckets: if hits > 0 then | 0 -> (-1)': NO_HITS,
  'include/decide-group.lua gather_buckets: elseif limit.requests < first.smallest_limit.requests then | < -> <=':
    'limits of one bucket with equal requests have its window in common too: they differ in capacity alone, which no state moves on by',
  'include/decide-group.lua times_that_fit: if hits * times <= room then | <= -> <':
    'room for exactly so many is what the division says as well',
  'include/decide-group.lua times_allowed: if take.fits < allowed then | < -> <=': 'puts the same number in the place of itself',
  'include/decide-group.lua times_allowed: local by_quota = 0 | 0 -> (-1)': 'the largest of some numbers, none of which is below 0',
  'include/decide-group.lua apply_takes: if take.hits > 0 and not take.overdraft_max and not take.slot_id then | > -> >=': NO_HITS,
  'include/decide-group.lua apply_takes: if take.hits > 0 and not take.overdraft_max and not take.slot_id then | 0 -> (-1)': NO_HITS,
  'include/decide-group.lua decide_group: if (allowed > 0 or group.has_reports) and not group.dry then | > -> >=': NOTHING_TO_APPLY,
  'include/decide-group.lua decide_group: if (allowed > 0 or group.has_reports) and not group.dry then | 0 -> (-1)': NOTHING_TO_APPLY,
  'take.lua main: if group_count < 0 then | < -> <=': 'no run has 0 groups, and a fold comes twice at least',
  'take.lua main: if group_count < 0 then | 0 -> 1': 'no run has 0 groups, and a fold comes twice at least',
  'take.lua main: if group_count < 0 then | 0 -> (-1)': 'no run has 0 groups, and a fold comes twice at least',
  'take.lua main: arg_count = args[takes_at - 1] + 0 | 0 -> (-1)': LAST_TAKE,
  'take.lua main: local takes_end = takes_at + arg_count - 1 | 1 -> 2': LAST_TAKE,
  'take.lua main: if group_count > 1 then | > -> >=': DIGITS,
  'take.lua main: if group_count > 1 then | > -> <=': DIGITS,
  'take.lua main: if group_count > 1 then | 1 -> 2': DIGITS,
  'take.lua main: if group_count > 1 then | 1 -> 0': DIGITS,
  'take.lua main: args[i] = args[i] + 0 | statement dropped': DIGITS,
  'take.lua main: if not latest and (group_count > 1 or at <= #args) then | > -> >=':
    'what groups leave is only looked for where there are several of them: otherwise it costs time alone',
  'take.lua main: if not latest and (group_count > 1 or at <= #args) then | 1 -> 0':
    'what groups leave is only looked for where there are several of them: otherwise it costs time alone',
  'take.lua main: if not latest and (group_count > 1 or at <= #args) then | <= -> <':
    'what groups leave is only looked for where there are several of them: otherwise it costs time alone',
  "take.lua main: new_value = string.format('%d', new_value) | statement dropped": DIGITS,
  'take.lua main: if hits < 0 and not is_in_course then | < -> <=': NO_PLAIN_CHECK,
  'take.lua main: if hits < 0 and not is_in_course then | 0 -> 1': NO_PLAIN_CHECK,
  'take.lua main: if hits < 0 and not is_in_course then | 0 -> (-1)': DIGITS,
  'take.lua main: if hits > 0 then | > -> >=': NO_PLAIN_CHECK,
  'take.lua main: while take_at <= takes_end do | <= -> <': LAST_TAKE,
  'take.lua main: if hits > 0 then | 0 -> (-1)': NO_PLAIN_CHECK,
  'take.lua main: left, reset_after_us, new_value, used, rest = charge_tokens(value, now_us, hits * times, window_us, capacity, args[take_at + 3] + 0) | statement dropped':
    LEFT_TO_GENERAL,
  'take.lua main: for place = 1, key_count do | 1 -> 0': NO_PLACE_0,
  'include/read-values.lua read_values: local MGET_KEYS_MAX = 4000 | 4000 -> 4001': NEVER_SO_MANY,
  'include/read-values.lua read_values: local MGET_KEYS_MAX = 4000 | 4000 -> 3999': NEVER_SO_MANY,
  "include/read-values.lua read_values: local values = #keys <= MGET_KEYS_MAX and redis.pcall('MGET', unpack(keys)) or { err = 'too many keys' } | <= -> <":
    NEVER_SO_MANY,
  'include/charge-plain.lua charge_tokens: local EXACT_MAX, DURATION_US_MAX, LONG_LEVEL = 9007199254740991, 3153600000000000, 1099511627776 | 9007199254740991 -> 9007199254740990':
    LEFT_TO_GENERAL,
  'include/read-values.lua read_values: for place = 1, #keys do | 1 -> 0': NO_PLACE_0,
  'include/charge-plain.lua charge_tokens: local EXACT_MAX, DURATION_US_MAX, LONG_LEVEL = 9007199254740991, 3153600000000000, 1099511627776 | 3153600000000000 -> 3153600000000001':
    LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: local EXACT_MAX, DURATION_US_MAX, LONG_LEVEL = 9007199254740991, 3153600000000000, 1099511627776 | 3153600000000000 -> 3153599999999999':
    LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: elseif length == 14 then | 14 -> 15': LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: if at_us > now_us or level > EXACT_MAX then | > -> >=': LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: if at_us > now_us or level > EXACT_MAX then | > -> >= #2': LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: if level < 0 then | < -> <=': EMPTY,
  'include/charge-plain.lua charge_tokens: if level < 0 then | 0 -> 1': EMPTY,
  'include/charge-plain.lua charge_tokens: local used = (level + rest) / window_us | / -> *': `far more hits are used then than any limit has: ${LEFT_TO_GENERAL}`,
  'include/charge-plain.lua charge_tokens: if left < 0 or most > EXACT_MAX or most > DURATION_US_MAX * requests then | < -> <=':
    LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: if left < 0 or most > EXACT_MAX or most > DURATION_US_MAX * requests then | 0 -> 1':
    LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: if left < 0 or most > EXACT_MAX or most > DURATION_US_MAX * requests then | > -> >=':
    LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: if left < 0 or most > EXACT_MAX or most > DURATION_US_MAX * requests then | > -> >= #2':
    LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_tokens: if left < 0 or most > EXACT_MAX or most > DURATION_US_MAX * requests then | * -> /':
    LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_window: local EXACT_MAX = 9007199254740991 | 9007199254740991 -> 9007199254740990': LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_window: if not number or number < 0 or number % 1 ~= 0 then | < -> <=': LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_window: if not number or number < 0 or number % 1 ~= 0 then | 0 -> 1': LEFT_TO_GENERAL,
  'include/charge-plain.lua charge_window: if left < 0 or charged >= 2 * window_us or starts_at + charged > EXACT_MAX then | > -> >=':
    LEFT_TO_GENERAL,
  'include/write-each.lua write_each: for place = 1, #keys do | 1 -> 0': NO_PLACE_0,
  'include/write-each.lua write_each: write = us and redis.pcall or write | statement dropped': REFUSED,
  'include/write-each.lua write_each: local write, known_us, ttl_ms = has_written and redis.pcall or redis.call, nil, nil | and -> or':
    REFUSED,
  "include/write-each.lua write_each: refused = write('SET', keys[place], value, 'KEEPTTL').err | statement dropped":
    'seen only where Redis does not increase the number of a window in course: test/lua/window-in-course.test.ts',
  'include/general-groups.lua take_general_groups: while at <= #ARGV do | <= -> <':
    'a run has three arguments at least, so none begins at the last',
  'include/general-groups.lua read_plain_take: local hits, limit = ARGV[at] + 0, { window_us = ARGV[at + 1] + 0, requests = ARGV[at + 2] + 0, capacity = ARGV[at + 2] + 0 } | 2 -> 1':
    'the requests of a fixed window, which counts by its capacity; those of a token bucket are read after that',
  'include/general-groups.lua read_plain_take: local hits, limit = ARGV[at] + 0, { window_us = ARGV[at + 1] + 0, requests = ARGV[at + 2] + 0, capacity = ARGV[at + 2] + 0 } | 0 -> 1 #3':
    'the requests of a fixed window, which counts by its capacity; those of a token bucket are read after that',
  'include/general-groups.lua read_plain_take: if hits < 0 then | < -> <=': NO_PLAIN_CHECK,
  'include/general-groups.lua read_plain_take: if hits < 0 then | 0 -> 1': NO_PLAIN_CHECK,
  'include/general-groups.lua charged_before: for earlier = place - 1, 1, -1 do | 1 -> 0 #2': NO_PLACE_0,
  'include/general-groups.lua take_plain_group: while take_at <= group.takes_end do | <= -> <': LAST_TAKE,
};
