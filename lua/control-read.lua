--[[
Reads control data: the changes after a position, records, or audit entries. Writes nothing.

ARGV[1]   what to read

"changes"   KEYS[1] about the data, KEYS[2] the change log, KEYS[3..] the records of each kind
            ARGV[2] epoch of the position or "", ARGV[3] its version, ARGV[4] most entries
   Reply    now in microseconds, version up to which lost records are discarded, how many records the hashes lack, then
            "empty"
            "changes", epoch, version of the last entry read, 1 if there are no more, entries as XRANGE answers them
            "gap", epoch, version of the data, version up to which the log and the position agree or "inf"
"get"       KEYS one hash for each record, ARGV[2..] its field
   Reply    for each: "version text", "" if there is none
"scan"      KEYS[1] a hash; ARGV[2] cursor, ARGV[3] count
   Reply    cursor, "version text" of each record on a line of its own: one long text is read faster than many
"fields"    the same, to name what "scan" could not read
   Reply    cursor, then field and "version text" of each record
A text that is longer than any record is answered as "-".
"audit"     KEYS[1] the audit log; ARGV[2] "1": newest first; ARGV[3] the id after which to go on or ""; ARGV[4] most entries
   Reply    as XRANGE; with the entry of the id, if it is still there
]]
--- @include "server-time"

local META, LOG = KEYS[1], KEYS[2]

local VERSION_DIGITS, VERSION_MAX, TEXT_BYTES = 16, 9007199254740990, 262144

local function version_of(entry)
  return string.match(entry[1], '^%d+')
end

-- The version in a text that another hand may have written; nil if it is none.
local function readable(text)
  return text and #text <= VERSION_DIGITS and string.find(text, '^%d+$') and text or nil
end

-- The version of the data; of damaged ones, that of the last entry of the log.
local function version_of_data()
  local version = readable(redis.call('HGET', META, 'version') or nil)
  if version then
    return version
  end
  local last = redis.call('XREVRANGE', LOG, '+', '-', 'COUNT', 1)[1]
  return last and tonumber(version_of(last)) < VERSION_MAX and version_of(last) or '0'
end

-- How many records the hashes lack of those that the last write left there.
local function count_missing(version)
  local sized, sizes = string.match(redis.call('HGET', META, 'sizes') or '', '^(%d+) (.+)$')
  local missing, kind = 0, 0
  -- Another program's write does not say how many there are.
  for size in string.gmatch(sized == version and sizes or '', '%d+') do
    kind = kind + 1
    missing = missing + math.max(0, size - redis.call('HLEN', KEYS[2 + kind]))
  end
  return string.format('%.0f', missing)
end

-- How far the log and a position that it does not contain agree.
local function common_version(position, version)
  local before = redis.call('XREVRANGE', LOG, position .. '-0', '-', 'COUNT', 1)[1]
  if before then
    return version_of(before)
  end
  return tonumber(version) < tonumber(position) and version or 'inf'
end

local function changes_after(epoch, position, count)
  local now, discarded = string.format('%.0f', server_time_us()), readable(redis.call('HGET', META, 'discarded') or nil) or '0'
  local current, version = redis.call('HGET', META, 'epoch'), version_of_data()
  local missing = count_missing(version)
  if not current then
    return { now, discarded, missing, 'empty' }
  elseif current ~= epoch then
    return { now, discarded, missing, 'gap', current, version, '0' }
  elseif version == position then
    return { now, discarded, missing, 'changes', current, version, 1, {} }
  end
  local entries = redis.call('XRANGE', LOG, position .. '-0', '+', 'COUNT', count + 1)
  if not entries[1] or version_of(entries[1]) ~= position then
    return { now, discarded, missing, 'gap', current, version, common_version(position, version) }
  end
  local last = version_of(entries[#entries])
  if #entries <= count and last ~= version then
    -- A part of the log or the version was lost, and no further read would bring the rest.
    return { now, discarded, missing, 'gap', current, version, 'inf' }
  end
  table.remove(entries, 1)
  return { now, discarded, missing, 'changes', current, last, last == version and 1 or 0, entries }
end

local what = ARGV[1]
if what == 'changes' then
  return changes_after(ARGV[2], ARGV[3], tonumber(ARGV[4]))
elseif what == 'get' then
  local records = {}
  for i, key in ipairs(KEYS) do
    local text = redis.call('HGET', key, ARGV[i + 1]) or ''
    records[i] = #text <= TEXT_BYTES and text or '-'
  end
  return records
elseif what == 'scan' then
  local page = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', ARGV[3])
  local records = {}
  for i = 2, #page[2], 2 do
    records[i / 2] = #page[2][i] <= TEXT_BYTES and page[2][i] or '-'
  end
  return { page[1], table.concat(records, '\n') }
elseif what == 'fields' then
  local page = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', ARGV[3])
  local reply = { page[1] }
  for i, text in ipairs(page[2]) do
    reply[i + 1] = #text <= TEXT_BYTES and text or '-'
  end
  return reply
end
if ARGV[2] == '1' then
  return redis.call('XREVRANGE', KEYS[1], ARGV[3] == '' and '+' or ARGV[3], '-', 'COUNT', ARGV[4])
end
return redis.call('XRANGE', KEYS[1], ARGV[3] == '' and '-' or ARGV[3], '+', 'COUNT', ARGV[4])
