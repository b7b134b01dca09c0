--[[
Writes the buckets that plain groups have charged, and replies.
]]
if values then
  if has_repeats then
    -- What was charged last under a key counts, and is written once.
    local is_seen = {}
    for place = key_count, 1, -1 do
      if full_after_us[place] then
        if is_seen[keys[place]] then
          full_after_us[place] = nil
        end
        is_seen[keys[place]] = true
      end
    end
  end
  if write_together then
    local is_written, refused = write_together(charged, full_after_us)
    if is_written then
      return refused or reply
    end
  end
  local write, known_ms, digits = redis.call, nil, nil
  for place = 1, key_count do
    if full_after_us[place] then
      local key = keys[place]
      -- Digits, like ttl_ms in buckets.lua. Those of the bucket before are used again if its TTL is the same.
      local expires_after_ms = ceil((full_after_us[place] + EXPIRY_MARGIN_US) / 1000)
      if expires_after_ms ~= known_ms then
        known_ms, digits = expires_after_ms, format('%d', expires_after_ms)
      end
      if write('SET', key, charged[is_lone and place or key], 'PX', digits).err then
        return redis.error_reply(WRITTEN_IN_PART)
      end
      write = redis.pcall
    end
  end
  return reply
end
