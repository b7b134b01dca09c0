/** Mutants that change nothing anyone can see, and why; each is named by its id. */

const LESS_NOTHING = 'a number less 0 is that number too';
const SAME_DIGITS = 'at a product of exactly 2^53 - 1 both branches are exact: the long way gives the same digits';
const UNUSED_REST =
  'an unused bucket is deleted, and advanced by a later group of the run, which makes it anew: until then nobody asks for its rest, for hits that are at most the capacity need no wait';
const NOTHING_TO_APPLY = 'of a denied group without usage reports no hits are charged and no refund is applied: to try costs time alone';
const NO_HITS = 'a check has 0 hits, and adding 0 to the charge or to the refund is the same';
const NONE_GIVEN = 'none is given back then, and settle_bucket leaves the state as it was, whichever it is handed';
const FORGOTTEN = 'a bucket left with 0 used is forgotten, whatever its rest';
const LONG_WAY = 'a group that could be decided the short way is decided the long way, which comes to the same';
const NO_CHARGE = 'a settlement of 0 hits applies none as a charge either';

export const EQUIVALENT: Readonly<Record<string, string>> = {
  'include/buckets.lua write_buckets: if first < bucket_count and not pcall(write_from, first + 1) then | < -> <=':
    'one further call, from behind the last bucket on, which writes none',
  'include/buckets.lua engine_of: engines[code] = engine | statement dropped': 'an algorithm that is made anew is the same; it only costs more',
  'include/limit.lua limit_at: if edge_count > 0 then | 0 -> 1': 'windows have two edges at least',
  'include/limit.lua limit_at: for i = 1, edge_count do | 1 -> 0':
    'one further entry under 0, which neither #edges_us nor the search, from 2 on, ever sees',
  'take.lua main: while at <= #ARGV do | <= -> <': 'a group has two arguments at least, so none begins at the last',
    'take.lua read_shape: local shape = { shadow = flags % 2 == 1, quota_always_fits = flags % 4 >= 2, dry = flags >= 4, has_reports = nil, has_slots = nil, takes = {} } | 2 -> 1 #2':
    'concerns shadow without the flag of 2 alone: nothing is denied then, by quota or otherwise',
  'take.lua read_take: is_peek = kind % 12 >= 6, | 12 -> 11': 'of the kinds that there are 17 alone is taken for a peek, a release, which fits always as well',
  'take.lua read_take: names_slot = kind >= 12, | 12 -> 11': 'no take is a peek and a usage report: there is no kind 11',
  'include/limit.lua slot_id_at: return struct.pack(\'>I4I4\', tonumber(string.sub(digits, 1, 8), 16), tonumber(string.sub(digits, 9), 16)) | 1 -> 0':
    'a text begins at its first character, whether 0 or 1 is named',
  'include/limit.lua slot_id_at: return struct.pack(\'>I4I4\', tonumber(string.sub(digits, 1, 8), 16), tonumber(string.sub(digits, 9), 16)) | 9 -> 8':
    'the digit more stands above the 32 bits that are packed',
  'include/arithmetic.lua main: local EXACT_MAX = 9007199254740991 | 9007199254740991 -> 9007199254740990': SAME_DIGITS,
  'include/arithmetic.lua multiply_divide: if product <= EXACT_MAX then | <= -> <': SAME_DIGITS,
  'include/arithmetic.lua refill: if parts <= EXACT_MAX then | <= -> <': SAME_DIGITS,
  'include/arithmetic.lua time_to_refill: if parts <= EXACT_MAX then | <= -> <': SAME_DIGITS,
  'include/token-bucket.lua unpack: return used and { used = used + 0, rest = rest + 0, at_us = at_us + 0 } | + -> -': LESS_NOTHING,
  'include/token-bucket.lua unpack: return used and { used = used + 0, rest = rest + 0, at_us = at_us + 0 } | + -> - #2': LESS_NOTHING,
  'include/token-bucket.lua unpack: return used and { used = used + 0, rest = rest + 0, at_us = at_us + 0 } | + -> - #3': LESS_NOTHING,
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
  'include/fixed-window.lua unpack: return index and { index = index + 0, used = used + 0 } | + -> -': LESS_NOTHING,
  'include/fixed-window.lua unpack: return index and { index = index + 0, used = used + 0 } | + -> - #2': LESS_NOTHING,
  'include/fixed-window.lua window_at: local next_edge = 2 | 2 -> 1':
    'the first edge is never after now, since the group was asked for its windows before: the search goes on to 2',
  'include/sliding-window-log.lua unpack: if #value < 4 or (#value - 4) % RECORD_BYTES ~= 0 then | 4 -> 3':
    'concerns 3 bytes alone, and -1 % 11 is 10: the second test refuses them',
  'include/sliding-window-log.lua advance: if length == 0 or log_record(state, length) < now_us then | < -> <=':
    'a last record of now is cut off and put back, with the same time and total',
  'include/sliding-window-counter.lua unpack: return index and { index = index + 0, current = current + 0, previous = previous + 0 } | + -> -': LESS_NOTHING,
  'include/sliding-window-counter.lua unpack: return index and { index = index + 0, current = current + 0, previous = previous + 0 } | + -> - #2': LESS_NOTHING,
  'include/sliding-window-counter.lua unpack: return index and { index = index + 0, current = current + 0, previous = previous + 0 } | + -> - #3': LESS_NOTHING,
  'include/sliding-window-counter.lua elapsed_until: if hits <= allowed then | <= -> <':
    'where they are the same, the quotient is the window itself, and nothing is left to wait; 0 of 0 hits makes NaN, which math.max(0, ...) turns to 0; the next window is only asked for with more hits than allowed',
  'include/sliding-window-counter.lua elapsed_until: return 0 | 0 -> (-1)':
    'this window alone gets here, and takes math.max(0, ...) of it: -1 less what has elapsed is below 0 as well; the next window is only asked for with more hits than allowed',
  'include/settle-bucket.lua settle_bucket: if settlement.hits > 0 then | > -> >=': NO_CHARGE,
  'include/settle-bucket.lua settle_bucket: if settlement.hits > 0 then | 0 -> (-1)': NO_CHARGE,
  'include/decide-group.lua gather_buckets: if hits > 0 then | > -> >=': NO_HITS,
  'include/decide-group.lua decide_one: if hits <= 0 or limit.requests == 0 or take.slot_id then | 0 -> 1': LONG_WAY,
  'include/decide-group.lua decide_one: if hits > room then | > -> >=': LONG_WAY,
  'include/decide-group.lua decide_group: local ends_at = times == 1 and #takes == 1 and not group.dry and decide_one(takes[1], now_us, reply, at) | 1 -> 0': LONG_WAY,
  'include/decide-group.lua gather_buckets: if hits > 0 then | 0 -> (-1)': NO_HITS,
  'include/decide-group.lua gather_buckets: elseif limit.requests < first.smallest_limit.requests then | < -> <=':
    'limits of one bucket with equal requests have its window in common too: they differ in capacity alone, which no state moves on by',
  'include/decide-group.lua times_that_fit: if hits * times <= room then | <= -> <': 'room for exactly so many is what the division says as well',
  'include/decide-group.lua times_allowed: if take.fits < allowed then | < -> <=': 'puts the same number in the place of itself',
  'include/decide-group.lua times_allowed: local by_quota = 0 | 0 -> (-1)': 'the largest of some numbers, none of which is below 0',
  'include/decide-group.lua apply_takes: if take.hits > 0 and not take.overdraft_max and not take.slot_id then | > -> >=': NO_HITS,
  'include/decide-group.lua apply_takes: if take.hits > 0 and not take.overdraft_max and not take.slot_id then | 0 -> (-1)': NO_HITS,
  'include/decide-group.lua decide_group: if (allowed > 0 or group.has_reports) and not group.dry then | > -> >=': NOTHING_TO_APPLY,
  'include/decide-group.lua decide_group: if (allowed > 0 or group.has_reports) and not group.dry then | 0 -> (-1)': NOTHING_TO_APPLY,
};
