--[[
Writes buckets of plain groups with a command for each.
]]

-- Writes the values to the keys at the same places. A bucket is kept until a while after it is full; `full_after_us` has the time until then for its
-- place. Without such a time, the bucket is not written. Returns an error reply if Redis refuses a later write; an error of the first write fails the run.
local function write_each(keys, values, full_after_us)
  -- As in writing.lua.
  local EXPIRY_MARGIN_US, WRITTEN_IN_PART = 2000000, 'PARTLY written: Redis refused a later write of the run'
  local write, known_us, ttl_ms = redis.call, nil, nil
  for place = 1, #keys do
    if full_after_us[place] then
      -- Digits, like ttl_ms in buckets.lua. The digits of the bucket before are used again if its time is the same. % costs less than math.ceil.
      if full_after_us[place] ~= known_us then
        known_us = full_after_us[place]
        local expires_after_us = known_us + EXPIRY_MARGIN_US
        ttl_ms = string.format('%d', (expires_after_us + -expires_after_us % 1000) / 1000)
      end
      if write('SET', keys[place], values[place], 'PX', ttl_ms).err then
        return redis.error_reply(WRITTEN_IN_PART)
      end
      write = redis.pcall
    end
  end
  return nil
end
