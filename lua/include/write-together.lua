--[[
Writes buckets of plain groups with few commands: MSETEX (Redis 8.4, Valkey 9.1 and newer) writes many keys with one TTL.
]]

-- Writes the buckets that need a TTL, like write_each in write-each.lua, and takes their times away. Buckets whose TTLs lie between the same powers of two share
-- the longest of these TTLs: a TTL may be longer than a bucket needs, never shorter. Returns whether it has written: not without MSETEX, for one key, for too many
-- keys, or if Redis refuses the first command; and an error reply if Redis refuses a later command.
local function write_together(keys, values, full_after_us)
  -- The first two as in writing.lua. unpack returns about 8,000 values at most, and MSETEX takes two for each key.
  local EXPIRY_MARGIN_US, WRITTEN_IN_PART, TOGETHER_KEYS_MAX = 2000000, 'PARTLY written: Redis refused a later write of the run', 1000
  if #keys == 1 or #keys > TOGETHER_KEYS_MAX or ((redis.REDIS_VERSION_NUM or 0) < 0x080400 and (redis.VALKEY_VERSION_NUM or 0) < 0x090100) then
    return false
  end
  -- For each power of two: the number of keys, each key with its value, and the longest TTL.
  local classes, longest_ms = {}, {}
  for place = 1, #keys do
    if (full_after_us[place] or 0) > 0 then
      local expires_after_ms = math.ceil((full_after_us[place] + EXPIRY_MARGIN_US) / 1000)
      local _, power = math.frexp(expires_after_ms)
      local class = classes[power] or { 0 }
      local count = class[1] + 1
      classes[power], longest_ms[power] = class, math.max(longest_ms[power] or 0, expires_after_ms)
      class[1], class[count + count], class[count + count + 1] = count, keys[place], values[place]
    end
  end
  local is_first = true
  for power, class in pairs(classes) do
    local count = class[1]
    class[count + count + 2], class[count + count + 3] = 'PX', string.format('%d', longest_ms[power])
    -- An error is a table.
    if redis.pcall('MSETEX', unpack(class)) ~= 1 then
      return not is_first, not is_first and redis.error_reply(WRITTEN_IN_PART)
    end
    is_first = false
  end
  for place = 1, #keys do
    if (full_after_us[place] or 0) > 0 then
      full_after_us[place] = nil
    end
  end
  return not is_first
end
