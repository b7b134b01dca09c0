/** Mutants of the scripts of control data that change nothing anyone can see, and why; each is named by its id. */

const BEGINS_WITH_IT = 'the text begins with the digits, and the first match is the leftmost one';
const GREEDY = 'the greedy rest reaches to the end of the text';
const FIRST_CHARACTER = 'string.sub takes 0 as 1';
const NO_SUCH_CODE = 'no change and no bound has that code';
const IN_PAIRS = 'what is logged comes in pairs';
const FIRST_OF_TWO = 'of one entry or two, the first is taken';
const ERROR_ONLY = 'of its answer only an error is used, and that depends on the key alone';
const NO_MEMBER = 'XX adds no member, and the next command removes the one that it could have changed';

export const CONTROL_EQUIVALENT: Readonly<Record<string, string>> = {
  "control-write.lua first_error: redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1) | 1 -> 2": ERROR_ONLY,
  "control-write.lua first_error: redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1) | 1 -> 0": ERROR_ONLY,
  "control-write.lua first_error: redis.call('ZADD', key, 'XX', 0, '') | 0 -> 1": NO_MEMBER,
  "control-write.lua first_error: redis.call('ZADD', key, 'XX', 0, '') | 0 -> (-1)": NO_MEMBER,
  "control-write.lua main: local last_entry = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1] | 1 -> 2": FIRST_OF_TWO,
  "control-write.lua main: local last_logged = last_entry and tonumber(string.match(last_entry[1], '^%d+')) or 0 | '^%d+' -> '%d+'":
    BEGINS_WITH_IT,
  "control-write.lua main: local sized, sizes = string.match(redis.call('HGET', META, 'sizes') or '', '^(%d+) (.+)$') | '^(%d+) (.+)$' -> '^(%d+) (.+)'":
    GREEDY,
  "control-write.lua main: local size = sized == digits(data_version) and string.match(sizes, '^' .. string.rep('%d+ ', kind - 1) .. '(%d+)') or 0 | 0 -> (-1)":
    'no hash has fewer records than none, and below 0 is missing as little as at 0',
  "control-write.lua remove_ended: local kind, field = string.match(member, '^(%d) (.+)$') | '^(%d) (.+)$' -> '^(%d) (.+)'": GREEDY,
  'control-write.lua is_expected: local how, what = string.sub(expected, 1, 1), tonumber(string.sub(expected, 2)) | 1 -> 0':
    FIRST_CHARACTER,
  'control-write.lua main: for code = 1, OF_PENALTIES do | 1 -> 0': NO_SUCH_CODE,
  'control-write.lua main: local how = string.sub(expected, 1, 1) | 1 -> 0': FIRST_CHARACTER,
  "control-write.lua main: logged[#logged + 1] = '' | 1 -> 2": 'the next line fills the hole',
  'control-write.lua main: if #logged > 0 then | 0 -> 1': IN_PAIRS,
  'control-write.lua main: local written = #logged > 0 and version or data_version | 0 -> 1': IN_PAIRS,
  "control-read.lua version_of: return string.match(entry[1], '^%d+') | '^%d+' -> '%d+'": BEGINS_WITH_IT,
  "control-read.lua version_of_data: local last = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1] | 1 -> 2": FIRST_OF_TWO,
  "control-read.lua count_missing: local sized, sizes = string.match(redis.call('HGET', META, 'sizes') or '', '^(%d+) (.+)$') | '^(%d+) (.+)$' -> '^(%d+) (.+)'":
    GREEDY,
  "control-read.lua common_version: local before = redis.call('XREVRANGE', LOG, position .. '-0', '-', 'COUNT', 1)[1] | 1 -> 2":
    FIRST_OF_TWO,
  "control-read.lua common_version: return tonumber(version) < tonumber(position) and version or 'inf' | < -> <=":
    'a position that is the version of the data is answered before',
  'control-read.lua main: for i = 2, #page[2], 2 do | 2 -> 1 #3': 'fields get places of halves, which a list does not have',
};
