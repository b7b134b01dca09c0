--[[
Writes control data: all changes of a write or none, with its audit entry, on one reading of Redis's clock.

KEYS[1]   about the data: a hash with `epoch`, `version` and `discarded`
KEYS[2]   the change log: a stream whose ids are versions
KEYS[3]   the audit log: a stream
KEYS[4]   when records end: a sorted set of "kind field" by the end in milliseconds
KEYS[5..] the records of each kind, in the order of the codes: a hash from field to "version text"
KEYS[10]  what is remembered of the write's id; absent: the write has none
ARGV[1]   the epoch to begin if there is none
ARGV[2]   "1": a dry run, which changes nothing
ARGV[3]   "1": let followers drop the records that this store lost
ARGV[4]   digest of the write, for its id
ARGV[5]   for how many milliseconds the id is remembered
ARGV[6]   about how many entries the change log keeps
ARGV[7]   about how many entries the audit log keeps
ARGV[8..11]   author, action, reason and details of the audit entry
ARGV[12..16]  most records of each kind
ARGV[17..]    for each change: kind (1 tenant, 2 plan, 3 override, 4 block, 5 pass), field,
              what is expected ("*" anything, "-" no record, "=V" version V, "<V" no record or one before version V, else skip it),
              end in milliseconds or "", text of the record or "" to delete it

Reply     "written", version, then for each change: 1 changed, 0 as it was; the record before ("version text") or ""
          "conflict", index of the change from 1, the record that is there or ""
          "full", code of the kind
          "repeated", version: a write with this id was made before
          "reused": the id belongs to another write

A version is the time of its write in microseconds, but later than the last version: no version comes twice, even if all keys are lost.
Up to 20 records that have ended are removed with each write.
]]
--- @include "server-time"

local META, LOG, AUDIT, ENDS, FIRST_KIND, WRITE_ID = KEYS[1], KEYS[2], KEYS[3], KEYS[4], 4, KEYS[10]
local KINDS, HEAD, PER_CHANGE, ENDED_MAX = 5, 16, 5, 20
local dry_run, discards = ARGV[2] == '1', ARGV[3] == '1'
local now_us = server_time_us()
local now_ms = math.floor(now_us / 1000)

local function digits(number)
  return string.format('%.0f', number)
end

-- The record under the key, as its text with the version, and the version; nil if there is none or it has ended.
local function record_of(kind, field)
  local value = redis.call('HGET', KEYS[FIRST_KIND + kind], field)
  if not value then
    return nil
  end
  local end_ms = redis.call('ZSCORE', ENDS, kind .. ' ' .. field)
  if end_ms and tonumber(end_ms) <= now_ms then
    return nil
  end
  return value, tonumber(string.match(value, '^%d+'))
end

local function is_expected(expected, version)
  local how, what = string.sub(expected, 1, 1), tonumber(string.sub(expected, 2))
  if how == '*' then
    return true
  elseif how == '-' then
    return version == nil
  elseif how == '=' then
    return version == what
  end
  return version == nil or version < what
end

if WRITE_ID then
  local digest, version = string.match(redis.call('GET', WRITE_ID) or '', '^(%S+) (%d+)$')
  if digest == ARGV[4] then
    return { 'repeated', version }
  elseif digest then
    return { 'reused' }
  end
end

local changes = {}
local added = {}
for at = HEAD + 1, #ARGV, PER_CHANGE do
  local kind = tonumber(ARGV[at])
  local field, expected, end_ms, text = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local before, version = record_of(kind, field)
  local is_met = is_expected(expected, version)
  if not is_met and string.sub(expected, 1, 1) ~= '<' then
    return { 'conflict', #changes + 1, before or '' }
  end
  local is_same = text == '' and before == nil or before ~= nil and before == digits(version) .. ' ' .. text
  local change = { kind = kind, field = field, end_ms = end_ms, text = text, before = before, changed = is_met and not is_same }
  if change.changed then
    added[kind] = (added[kind] or 0) + (text == '' and -1 or before == nil and 1 or 0)
  end
  changes[#changes + 1] = change
end
for kind = 1, KINDS do
  local count = added[kind] or 0
  if count > 0 and redis.call('HLEN', KEYS[FIRST_KIND + kind]) + count > tonumber(ARGV[11 + kind]) then
    return { 'full', kind }
  end
end

local last_version = tonumber(redis.call('HGET', META, 'version') or 0)
local version = math.max(now_us, last_version + 1)
local logged = {}
for _, change in ipairs(changes) do
  if change.changed then
    logged[#logged + 1] = change.kind .. ' ' .. change.field
    logged[#logged + 1] = change.text
  end
end
if discards then
  logged[#logged + 1] = ''
  logged[#logged + 1] = ''
end

-- What the data have after the write: a write that changes nothing leaves their version.
local written = #logged > 0 and version or last_version

local function write_changes()
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', ENDS, '-inf', digits(now_ms), 'LIMIT', 0, ENDED_MAX)) do
    local kind, field = string.match(member, '^(%d) (.+)$')
    redis.call('ZREM', ENDS, member)
    redis.call('HDEL', KEYS[FIRST_KIND + kind], field)
    -- A change of this write comes later in the log, and wins.
    table.insert(logged, 1, '')
    table.insert(logged, 1, member)
  end
  redis.call('HSETNX', META, 'epoch', ARGV[1])
  redis.call('HSET', META, 'version', digits(version))
  if discards then
    redis.call('HSET', META, 'discarded', digits(version))
  end
  redis.call('XADD', LOG, 'MAXLEN', '~', ARGV[6], digits(version) .. '-0', unpack(logged))
  for _, change in ipairs(changes) do
    if change.changed then
      local key, member = KEYS[FIRST_KIND + change.kind], change.kind .. ' ' .. change.field
      if change.text == '' then
        redis.call('HDEL', key, change.field)
      else
        redis.call('HSET', key, change.field, digits(version) .. ' ' .. change.text)
      end
      if change.text == '' or change.end_ms == '' then
        redis.call('ZREM', ENDS, member)
      else
        redis.call('ZADD', ENDS, change.end_ms, member)
      end
    end
  end
end

-- One entry for each change, or one for an action that changes no record.
local function write_audit()
  local function add(...)
    redis.call('XADD', AUDIT, 'MAXLEN', '~', ARGV[7], '*', 'author', ARGV[8], 'action', ARGV[9], 'reason', ARGV[10], 'details', ARGV[11], ...)
  end
  local is_added = false
  for _, change in ipairs(changes) do
    if change.changed then
      add('key', change.kind .. ' ' .. change.field, 'before', change.before or '', 'after', change.text)
      is_added = true
    end
  end
  if not is_added then
    add()
  end
end

if not dry_run then
  if #logged > 0 then
    write_changes()
  end
  write_audit()
  if WRITE_ID then
    redis.call('SET', WRITE_ID, ARGV[4] .. ' ' .. digits(written), 'PX', ARGV[5])
  end
end

local reply = { 'written', digits(written) }
for _, change in ipairs(changes) do
  reply[#reply + 1] = change.changed and 1 or 0
  reply[#reply + 1] = change.before or ''
end
return reply
