--[[
Writes buckets of plain groups with a command for each.
]]

-- Writes the new values to the keys at the same places. A bucket is kept until a while after it is full; `full_after_us` has the time until then for its
-- place. Without such a time, the bucket is not written; with 0, the TTL that stands is kept, and the stored number is increased to the new one: to write
-- it again costs three times as much. `has_written`: the run has written already. Returns an error reply if Redis refuses a later write; an error of the first write fails the run.
local function write_each(keys, stored, values, full_after_us, has_written)
  -- As in writing.lua.
  local EXPIRY_MARGIN_US, WRITTEN_IN_PART = 2000000, 'PARTLY written: Redis refused a later write of the run'
  local write, known_us, ttl_ms, known_hits, hit_digits = has_written and redis.pcall or redis.call, nil, nil, nil, nil
  for place = 1, #keys do
    local us, value, refused = full_after_us[place], values[place], nil
    if us == 0 then
      local hits = value - stored[place]
      if hits ~= known_hits then
        known_hits, hit_digits = hits, string.format('%d', hits)
      end
      -- Redis does not increase digits that it would write otherwise, and an ACL may forbid it.
      if redis.pcall('INCRBY', keys[place], hit_digits) ~= value then
        refused = write('SET', keys[place], string.format('%d', value), 'KEEPTTL').err
      end
      write = redis.pcall
    elseif us then
      -- Digits, like ttl_ms in buckets.lua. The digits of the bucket before are used again if its time is the same. % costs less than math.ceil.
      if us ~= known_us then
        known_us = us
        local expires_after_us = us + EXPIRY_MARGIN_US
        ttl_ms = string.format('%d', (expires_after_us + -expires_after_us % 1000) / 1000)
      end
      if type(value) == 'number' then
        value = string.format('%d', value)
      end
      refused = write('SET', keys[place], value, 'PX', ttl_ms).err
      write = redis.pcall
    end
    if refused then
      return redis.error_reply(WRITTEN_IN_PART)
    end
  end
  return nil
end
