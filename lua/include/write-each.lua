--[[
Writes buckets of plain groups with a command for each.
]]

-- Writes the new values to the keys at the same places. A bucket is kept until a while after it is full; `full_after_us` has the time until then for its
-- place. Without such a time, the bucket is not written; with 0, the TTL that stands is kept, and the stored number is increased to the new one: to write
-- it again costs three times as much. `has_written`: the run has written already. Returns an error reply if Redis refuses a later write; an error of the first write fails the run.
local function write_each(keys, stored, values, full_after_us, has_written)
  -- As in writing.lua.
  local EXPIRY_MARGIN_US, WRITTEN_IN_PART = 2000000, 'PARTLY written: Redis refused a later write of the run'
  local write, known_us, ttl_ms = has_written and redis.pcall or redis.call, nil, nil
  for place = 1, #keys do
    local us, value, refused = full_after_us[place], values[place], nil
    if us == 0 then
      -- Redis does not increase digits that it would write otherwise, and an ACL may forbid it.
      if redis.pcall('INCRBY', keys[place], value - stored[place]) ~= value then
        refused = write('SET', keys[place], value, 'KEEPTTL').err
      end
    elseif us then
      -- Digits, like ttl_ms in buckets.lua. The digits of the bucket before are used again if its time is the same. % costs less than math.ceil.
      if us ~= known_us then
        known_us = us
        local expires_after_us = known_us + EXPIRY_MARGIN_US
        ttl_ms = string.format('%d', (expires_after_us + -expires_after_us % 1000) / 1000)
      end
      refused = write('SET', keys[place], value, 'PX', ttl_ms).err
    end
    if refused then
      return redis.error_reply(WRITTEN_IN_PART)
    end
    write = us and redis.pcall or write
  end
  return nil
end
