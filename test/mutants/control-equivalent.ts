/** Mutants of the scripts of control data that change nothing anyone can see, and why; each is named by its id. */

const BEGINS_WITH_IT = 'the text begins with the digits, and the first match is the leftmost one';
const ONE_SPACE = 'the text is a digest, a space and digits: every pattern finds them in the same way';
const MEMBER = 'a member begins with its kind and a space, and the greedy rest reaches to its end';
const FIRST_CHARACTER = 'string.sub takes 0 as 1';
const NO_SUCH_KIND = 'no record has that kind, so nothing was added to it';
const IN_PAIRS = 'what is logged comes in pairs';
const FIRST_OF_TWO = 'of one entry or two, the first is taken';

export const CONTROL_EQUIVALENT: Readonly<Record<string, string>> = {
  'control-write.lua main: local KINDS, HEAD, PER_CHANGE, ENDED_MAX = 5, 16, 5, 20 | 5 -> 6': NO_SUCH_KIND,
  "control-write.lua record_of: return value, tonumber(string.match(value, '^%d+')) | '^%d+' -> '%d+'": BEGINS_WITH_IT,
  'control-write.lua is_expected: local how, what = string.sub(expected, 1, 1), tonumber(string.sub(expected, 2)) | 1 -> 0':
    FIRST_CHARACTER,
  "control-write.lua main: local digest, version = string.match(redis.call('GET', WRITE_ID) or '', '^(%S+) (%d+)$') | '^(%S+) (%d+)$' -> '(%S+) (%d+)$'":
    ONE_SPACE,
  "control-write.lua main: local digest, version = string.match(redis.call('GET', WRITE_ID) or '', '^(%S+) (%d+)$') | '^(%S+) (%d+)$' -> '^(%S+) (%d+)'":
    ONE_SPACE,
  "control-write.lua main: if not is_met and string.sub(expected, 1, 1) ~= '<' then | 1 -> 0": FIRST_CHARACTER,
  'control-write.lua main: for kind = 1, KINDS do | 1 -> 0': NO_SUCH_KIND,
  'control-write.lua main: local count = added[kind] or 0 | 0 -> (-1)': 'neither is above 0',
  "control-write.lua main: logged[#logged + 1] = '' | 1 -> 2": 'the next line fills the hole',
  "control-write.lua write_changes: local kind, field = string.match(member, '^(%d) (.+)$') | '^(%d) (.+)$' -> '(%d) (.+)$'": MEMBER,
  "control-write.lua write_changes: local kind, field = string.match(member, '^(%d) (.+)$') | '^(%d) (.+)$' -> '^(%d) (.+)'": MEMBER,
  'control-write.lua main: if #logged > 0 then | 0 -> 1': IN_PAIRS,
  'control-write.lua main: local written = #logged > 0 and version or last_version | 0 -> 1': IN_PAIRS,
  "control-read.lua version_of: return string.match(entry[1], '^%d+') | '^%d+' -> '%d+'": BEGINS_WITH_IT,
  "control-read.lua common_version: local before = redis.call('XREVRANGE', LOG, position .. '-0', '-', 'COUNT', 1)[1] | 1 -> 2":
    FIRST_OF_TWO,
  "control-read.lua common_version: return tonumber(version) < tonumber(position) and version or 'inf' | < -> <=":
    'a position that is the version of the data is answered before',
  'control-read.lua main: for i = 2, #page[2], 2 do | 2 -> 1 #3': 'fields get places of halves, which a list does not have',
  'control-read.lua changes_after: if not entries[1] or version_of(entries[1]) ~= position then | 1 -> 2':
    'a position of the last entry is the version of the data, which is answered before',
};
