--[[
Writes control data: all changes of a write or none, with its audit entry, on one reading of Redis's clock.

KEYS[1]   about the data: a hash with `epoch`, `version`, `discarded` and `sizes`
KEYS[2]   the change log: a stream whose ids are versions
KEYS[3]   the audit log, or the trail of penalties: a stream
KEYS[4]   when records end: a sorted set of "kind field" by the end in milliseconds
KEYS[5..10]   the records of each kind, in the order of the codes: a hash from field to "version text"
KEYS[11]  the blocks by penalties: a sorted set of fields by the end in milliseconds
KEYS[12]  the trees of tenants: a hash from field to how many tenants are one, two and more levels below, for those with some
KEYS[13]  what is remembered of the write's id; absent: the write has none
ARGV[1]   the epoch to begin if there is none
ARGV[2]   "1": a dry run, which changes nothing
ARGV[3]   "1": let followers drop the records that this store lost
ARGV[4]   digest of the write, for its id
ARGV[5]   for how many milliseconds the id is remembered
ARGV[6]   about how many entries the change log keeps
ARGV[7]   about how many entries the audit log keeps
ARGV[8]   most bytes of a record in an audit entry, which lacks longer ones
ARGV[9..12]   author, action, reason and details of the audit entry
ARGV[13..18]  most records of each kind
ARGV[19]      most blocks by penalties among them
ARGV[20]      "epoch version" that the data must have, "-": they must never have been written, or "": any
ARGV[21]      most levels of a tree of tenants
ARGV[22]      most tenants directly below one
ARGV[23..]    for each change: kind (1 tenant, 2 plan, 3 override, 4 block, 5 pass, 6 rollout), field,
              what is expected ("*" anything, "-" no record, "=V" version V, "<V" no record or one before version V, else skip it,
              "!" anything, and a deletion is logged although there is no record),
              end in milliseconds or "", text of the record or "" to delete it

Reply     "written", version, then for each change: 1 changed, 0 as it was; the record before ("version text") or ""
          "conflict", index of the change from 1, the record that is there or ""
          "full", code of the kind, or 7 for blocks by penalties
          "tree", index of the change from 1, problem, count: it would leave no tree of tenants. The problem is "cycle", "depth", "crowd"
            (the parent has the most tenants below it), or "children" (the deleted tenant has that many)
          "moved": the data have another epoch or version
          "repeated", version: a write with this id was made before
          "reused": the id belongs to another write

A version is the time of its write in microseconds, but later than the last version: no version comes twice, even if all keys are lost.
Records that ended a day ago are removed with each write, and all that have ended before a kind counts as full.
Every key and command that may fail is tried before the first change, so that a failure changes nothing.
]]
--- @include "server-time"

local META, LOG, AUDIT, ENDS, FIRST_KIND, PENALTIES = KEYS[1], KEYS[2], KEYS[3], KEYS[4], 4, KEYS[11]
local WRITE_ID = KEYS[13]
local KINDS, BLOCK, OF_PENALTIES, HEAD, PER_CHANGE = 6, 4, 7, 22, 5
-- Ended records stay for a day: a clock that stepped forward and back has ended none of them.
local GRACE_MS, REMOVED_AT_ONCE, FULL_ROUNDS = 86400000, 200, 5
local VERSION_DIGITS, VERSION_MAX, BEFORE_BYTES = 16, 9007199254740990, 1048576
local dry_run, discards = ARGV[2] == '1', ARGV[3] == '1'
local now_us = server_time_us()
local now_ms = math.floor(now_us / 1000)

local function digits(number)
  return string.format('%.0f', number)
end

-- The number at the start of a text, before what follows; nil if the text was damaged.
local function version_in(text, what_follows)
  local found = string.match(text or '', '^(%d+)' .. what_follows)
  return found and #found <= VERSION_DIGITS and tonumber(found) or nil
end

-- Fails unless each key is absent or has its type, and the user may run each command. Nothing changes. Returns the error.
local function first_error()
  for _, key in ipairs({ LOG, AUDIT }) do
    redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)
    -- No stream accepts this id. It comes first, because Redis looks at its memory before the first writing command alone.
    local reply = redis.pcall('XADD', key, '0-0', '', '')
    if not string.find(reply.err, 'greater') then
      return reply
    end
  end
  for _, key in ipairs({ ENDS, PENALTIES }) do
    redis.call('ZADD', key, 'XX', 0, '')
    redis.call('ZREM', key, '')
  end
  redis.call('HDEL', META, '')
  redis.call('HDEL', KEYS[12], '')
  local known = redis.call('HGET', META, 'sizes')
  if known then
    redis.call('HSET', META, 'sizes', known)
  end
  if WRITE_ID then
    redis.call('SET', WRITE_ID, '', 'XX', 'PX', ARGV[5])
  end
  return nil
end

local last_entry = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
local last_logged = last_entry and tonumber(string.match(last_entry[1], '^%d+')) or 0
local is_log_usable = last_logged < VERSION_MAX
local log_version = is_log_usable and last_logged or 0
-- The log and the version differ if a part of them was lost. The next version is later than both.
local data_version = version_in(redis.call('HGET', META, 'version'), '$') or log_version
local last_version = math.max(data_version, log_version)

-- How many records of each kind the store should have and lacks, as when a key was evicted.
local missing = {}
local sized, sizes = string.match(redis.call('HGET', META, 'sizes') or '', '^(%d+) (.+)$')
for kind = 1, KINDS do
  local size = sized == digits(data_version) and string.match(sizes, '^' .. string.rep('%d+ ', kind - 1) .. '(%d+)') or 0
  missing[kind] = math.max(0, size - redis.call('HLEN', KEYS[FIRST_KIND + kind]))
end

local function is_penalty(kind, field)
  return kind == BLOCK and string.find(field, '/penalty%-')
end

-- Removes records that ended before a time, a bounded number; how many.
local function remove_ended(until_ms)
  local members = redis.call('ZRANGEBYSCORE', ENDS, '-inf', digits(until_ms), 'LIMIT', 0, REMOVED_AT_ONCE)
  for _, member in ipairs(members) do
    local kind, field = string.match(member, '^(%d) (.+)$')
    redis.call('ZREM', ENDS, member)
    if kind then
      redis.call('HDEL', KEYS[FIRST_KIND + kind], field)
      redis.call('ZREM', PENALTIES, field)
    end
  end
  return #members
end

-- Writes how many records of each kind there should be, for this version of the data.
local function write_sizes(version)
  local parts = { digits(version) }
  for kind = 1, KINDS do
    parts[kind + 1] = digits(redis.call('HLEN', KEYS[FIRST_KIND + kind]) + missing[kind])
  end
  redis.call('HSET', META, 'sizes', table.concat(parts, ' '))
end

-- The record under the key, as its text with the version, and the version; nil if there is none or it has ended. Then, whether the key is there.
local function record_of(kind, field)
  local value = redis.call('HGET', KEYS[FIRST_KIND + kind], field)
  if not value then
    return nil, nil, false
  end
  local end_ms = redis.call('ZSCORE', ENDS, kind .. ' ' .. field)
  if end_ms and tonumber(end_ms) <= now_ms then
    return nil, nil, true
  end
  -- A damaged record has no version, and any write may replace it.
  return #value <= BEFORE_BYTES and value or '', version_in(value, ' '), true
end

local function is_expected(expected, version)
  local how, what = string.sub(expected, 1, 1), tonumber(string.sub(expected, 2))
  if how == '*' or how == '!' then
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

if ARGV[20] ~= '' then
  local epoch = redis.call('HGET', META, 'epoch')
  if ARGV[20] ~= (epoch and epoch .. ' ' .. digits(data_version) or '-') then
    return { 'moved' }
  end
end

if not dry_run then
  local problem = first_error()
  if problem then
    return problem
  end
  if remove_ended(now_ms - GRACE_MS) > 0 then
    write_sizes(data_version)
  end
end

local changes = {}
local added, restored = {}, {}
for code = 1, OF_PENALTIES do
  added[code], restored[code] = 0, 0
end
for at = HEAD + 1, #ARGV, PER_CHANGE do
  local kind = tonumber(ARGV[at])
  local field, expected, end_ms, text = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local before, version, is_there = record_of(kind, field)
  local how = string.sub(expected, 1, 1)
  local is_met = is_expected(expected, version)
  if not is_met and how ~= '<' then
    return { 'conflict', #changes + 1, before or '' }
  end
  local is_same = how ~= '!' and (text == '' and before == nil or version ~= nil and before == digits(version) .. ' ' .. text)
  local change = { kind = kind, field = field, end_ms = end_ms, text = text, before = before, changed = is_met and not is_same }
  if change.changed then
    local count = text ~= '' and 1 or 0
    added[kind] = added[kind] + count - (is_there and 1 or 0)
    if is_penalty(kind, field) then
      local last_end_ms = redis.call('ZSCORE', PENALTIES, field)
      added[OF_PENALTIES] = added[OF_PENALTIES] + count - (last_end_ms and tonumber(last_end_ms) > now_ms and 1 or 0)
    end
    if how == '<' and not is_there then
      restored[kind] = restored[kind] + 1
    end
  end
  changes[#changes + 1] = change
end

--- @include "tenant-tree"

local refused, refused_problem, refused_count = tree_refusal(changes)
if refused then
  return { 'tree', refused, refused_problem, refused_count }
end

-- The code of the first kind without room for what is added; nil: there is room.
local function full_kind()
  for kind = 1, KINDS do
    if added[kind] > 0 and redis.call('HLEN', KEYS[FIRST_KIND + kind]) + added[kind] > tonumber(ARGV[12 + kind]) then
      return kind
    end
  end
  local penalties = added[OF_PENALTIES]
  if penalties > 0 and redis.call('ZCOUNT', PENALTIES, '(' .. digits(now_ms), '+inf') + penalties > tonumber(ARGV[19]) then
    return OF_PENALTIES
  end
  return nil
end

local full = full_kind()
if full and not dry_run then
  for _ = 1, FULL_ROUNDS do
    local removed = remove_ended(now_ms)
    full = full_kind()
    if not full or removed < REMOVED_AT_ONCE then
      break
    end
  end
  write_sizes(data_version)
end
-- While more have ended than one write removes, what lives has room.
local ended = redis.call('ZCOUNT', ENDS, '-inf', digits(now_ms))
if full and (full == OF_PENALTIES or ended == 0) then
  return { 'full', full }
end

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

-- The version and counts after the write; a write that changes nothing leaves the version.
local written = #logged > 0 and version or data_version

local function write_record(change)
  local key, member = KEYS[FIRST_KIND + change.kind], change.kind .. ' ' .. change.field
  local ends = change.text ~= '' and change.end_ms ~= ''
  if change.text == '' then
    redis.call('HDEL', key, change.field)
  else
    redis.call('HSET', key, change.field, digits(version) .. ' ' .. change.text)
  end
  if ends then
    redis.call('ZADD', ENDS, change.end_ms, member)
  else
    redis.call('ZREM', ENDS, member)
  end
  if ends and is_penalty(change.kind, change.field) then
    redis.call('ZADD', PENALTIES, change.end_ms, change.field)
  else
    redis.call('ZREM', PENALTIES, change.field)
  end
end

local function write_changes()
  -- One command writes both: a version without an epoch would be of no data.
  redis.call('HSET', META, 'epoch', redis.call('HGET', META, 'epoch') or ARGV[1], 'version', digits(version))
  if discards then
    redis.call('HSET', META, 'discarded', digits(version))
  end
  if not is_log_usable then
    redis.call('DEL', LOG)
  end
  redis.call('XADD', LOG, 'MAXLEN', '~', ARGV[6], digits(version) .. '-0', unpack(logged))
  for _, change in ipairs(changes) do
    if change.changed then
      write_record(change)
    end
  end
  write_tree()
  for kind = 1, KINDS do
    missing[kind] = discards and 0 or math.max(0, missing[kind] - restored[kind])
  end
  write_sizes(version)
end

-- One entry for each change, or one for a write with details, which say what it did, or without changes.
local function write_audit()
  local function add(...)
    redis.call('XADD', AUDIT, 'MAXLEN', '~', ARGV[7], '*', 'author', ARGV[9], 'action', ARGV[10], 'reason', ARGV[11], 'details', ARGV[12], ...)
  end
  local function shown(text)
    return text and #text <= tonumber(ARGV[8]) and text or ''
  end
  local is_added = false
  for _, change in ipairs(ARGV[12] == '' and changes or {}) do
    if change.changed then
      add('key', change.kind .. ' ' .. change.field, 'before', shown(change.before), 'after', shown(change.text))
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
