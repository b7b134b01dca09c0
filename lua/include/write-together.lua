--[[
Writes buckets of plain groups with few commands: MSETEX (Redis 8.4, Valkey 9.1 and newer) writes many keys with one TTL.
Buckets whose TTLs lie between the same powers of two share the longest of these TTLs. A TTL may be longer than a bucket needs, never shorter.
write_together is nil without MSETEX, for one key, and for too many keys.
]]
-- unpack returns about 8,000 values at most. MSETEX takes two for each key.
local TOGETHER_KEYS_MAX = 1000
local write_together
if #keys > 1 and #keys <= TOGETHER_KEYS_MAX and ((redis.REDIS_VERSION_NUM or 0) >= 0x080400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x090100) then
  -- Writes what take.lua has charged. Returns false, with nothing written, if Redis refuses the first command. Otherwise returns true, and an error
  -- reply if Redis refuses a later command.
  write_together = function(charged, full_after_us)
    -- For each power of two: the number of keys, each key with its text, and the longest TTL.
    local classes, longest_ms = {}, {}
    for place = 1, #keys do
      if full_after_us[place] then
        local key = keys[place]
        local expires_after_ms = ceil((full_after_us[place] + EXPIRY_MARGIN_US) / 1000)
        local _, power = math.frexp(expires_after_ms)
        local class = classes[power] or { 0 }
        local count = class[1] + 1
        classes[power], longest_ms[power] = class, max(longest_ms[power] or 0, expires_after_ms)
        class[1], class[count + count], class[count + count + 1] = count, key, charged[is_lone and place or key]
      end
    end
    local is_first = true
    for power, class in pairs(classes) do
      local count = class[1]
      class[count + count + 2], class[count + count + 3] = 'PX', format('%d', longest_ms[power])
      -- An error is a table.
      if redis.pcall('MSETEX', unpack(class)) ~= 1 then
        return not is_first, not is_first and redis.error_reply(WRITTEN_IN_PART)
      end
      is_first = false
    end
    return true
  end
end
