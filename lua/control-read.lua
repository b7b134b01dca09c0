--[[
Reads control data: the changes after a position, records, or audit entries. Writes nothing.

ARGV[1]   what to read

"changes"   KEYS[1] about the data, KEYS[2] the change log
            ARGV[2] epoch of the position or "", ARGV[3] its version, ARGV[4] most entries
   Reply    now in microseconds, version up to which lost records are discarded, then
            "empty"
            "changes", epoch, version of the last entry read, 1 if there are no more, entries as XRANGE answers them
            "gap", epoch, version of the data, version up to which the log and the position agree or "inf"
"get"       KEYS one hash for each record, ARGV[2..] its field
   Reply    for each: "version text" or ""
"scan"      KEYS[1] a hash; ARGV[2] cursor, ARGV[3] count
   Reply    cursor, "version text" of each record on a line of its own: one long text is read faster than many
"audit"     KEYS[1] the audit log; ARGV[2] "1": newest first; ARGV[3] the id after which to go on or ""; ARGV[4] most entries
   Reply    as XRANGE; with the entry of the id, if it is still there
]]
--- @include "server-time"

local META, LOG = KEYS[1], KEYS[2]

local function version_of(entry)
  return string.match(entry[1], '^%d+')
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
  local now, discarded = string.format('%.0f', server_time_us()), redis.call('HGET', META, 'discarded') or '0'
  local current, version = redis.call('HGET', META, 'epoch'), redis.call('HGET', META, 'version')
  if not current then
    return { now, discarded, 'empty' }
  elseif current ~= epoch then
    return { now, discarded, 'gap', current, version, '0' }
  elseif version == position then
    return { now, discarded, 'changes', current, version, 1, {} }
  end
  local entries = redis.call('XRANGE', LOG, position .. '-0', '+', 'COUNT', count + 1)
  if not entries[1] or version_of(entries[1]) ~= position then
    return { now, discarded, 'gap', current, version, common_version(position, version) }
  end
  local last = version_of(entries[#entries])
  table.remove(entries, 1)
  return { now, discarded, 'changes', current, last, last == version and 1 or 0, entries }
end

local what = ARGV[1]
if what == 'changes' then
  return changes_after(ARGV[2], ARGV[3], tonumber(ARGV[4]))
elseif what == 'get' then
  local records = {}
  for i, key in ipairs(KEYS) do
    records[i] = redis.call('HGET', key, ARGV[i + 1]) or ''
  end
  return records
elseif what == 'scan' then
  local page = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', ARGV[3])
  local records = {}
  for i = 2, #page[2], 2 do
    records[i / 2] = page[2][i]
  end
  return { page[1], table.concat(records, '\n') }
end
if ARGV[2] == '1' then
  return redis.call('XREVRANGE', KEYS[1], ARGV[3] == '' and '+' or ARGV[3], '-', 'COUNT', ARGV[4])
end
return redis.call('XRANGE', KEYS[1], ARGV[3] == '' and '-' or ARGV[3], '+', 'COUNT', ARGV[4])
