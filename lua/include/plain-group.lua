--[[
Decides a plain group that fitting-group.lua leaves, in two passes: a denied one, or a fold. The first pass finds how many times the group fits, the
second charges and replies. Without a table for each bucket, so it costs less than half of decide-group.lua, which comes to the same.

`values` becomes nil, with nothing written, for what only the general path can decide: a bucket that holds something else, one that
is ahead of the clock, numbers that are too large.
]]
if fitting_to < reply_at + 2 * take_count then
  -- By place: the hits used before the group, and of a token bucket its rest.
  local used, rest, allowed = {}, {}, times
  take_at = takes_at
  for place = first_place, last_place do
    local name = is_lone and place or keys[place]
    if full_after_us[place] then
      -- fitting-group.lua has charged it.
      charged[name], full_after_us[place] = replaced and replaced[place], nil
    end
    local hits, window, capacity = args[take_at] + 0, args[take_at + 1] + 0, args[take_at + 2] + 0
    local value, used_now = charged[name] or values[place], 0
    take_at = take_at + 3
    if hits < 0 then
      hits = -hits
      if value then
        local number, starts_now = to_number(value), 2 * (now_us - now_us % window)
        if not number or number < 0 or number % 1 ~= 0 then
          values = nil
          break
        elseif number >= starts_now then
          -- A number of a later window yields more hits than are accepted below.
          used_now = number - starts_now
        end
      end
    else
      local requests, rest_now = args[take_at] + 0, 0
      take_at = take_at + 1
      if value then
        local length = #value
        if length ~= SHORT_BYTES and length ~= LONG_BYTES then
          values = nil
          break
        end
        local at_us, level = unpack_bytes(length == SHORT_BYTES and SHORT_FORM or LONG_FORM, value)
        if at_us > now_us or level > EXACT_MAX then
          values = nil
          break
        end
        level = level - (now_us - at_us) * requests
        if level > 0 then
          used_now = ceil(level / window)
          rest_now = used_now * window - level
        end
      end
      rest[place] = rest_now
    end
    used[place] = used_now
    local room = capacity - used_now
    if hits * allowed > room then
      allowed = hits > room and 0 or (room - room % hits) / hits
    end
  end
  if not values then
    break
  end
  if times > 1 then
    reply[reply_at] = allowed
    reply_at = reply_at + 1
  elseif allowed == 0 then
    reply[reply_at] = -4
    reply_at = reply_at + 1
  end
  take_at = takes_at
  for place = first_place, last_place do
    local hits, window, capacity, requests = args[take_at] + 0, args[take_at + 1] + 0, args[take_at + 2] + 0, nil
    local used_before, rest_now = used[place], rest[place]
    local used_now, number, reset_after_us
    take_at = take_at + 3
    if rest_now then
      requests = args[take_at] + 0
      take_at = take_at + 1
      used_now = used_before + hits * allowed
      local parts = used_now * window
      if parts > EXACT_MAX or parts > DURATION_US_MAX * requests then
        values = nil
        break
      end
      number = parts - rest_now
      reset_after_us = ceil(number / requests)
    else
      hits = -hits
      used_now = used_before + hits * allowed
      local part_us = now_us % window
      number, reset_after_us = 2 * (now_us - part_us) + used_now, window - part_us
      if used_now >= 2 * window or number > EXACT_MAX then
        values = nil
        break
      end
    end
    if times > 1 then
      reply[reply_at], reply[reply_at + 1] = used_before, rest_now or 0
    else
      reply[reply_at], reply[reply_at + 1] = capacity - used_now, reset_after_us
    end
    reply_at = reply_at + 2
    if allowed > 0 then
      local name = is_lone and place or keys[place]
      has_repeats = has_repeats or charged[name]
      full_after_us[place] = reset_after_us
      charged[name] = rest_now and pack_bytes(number < LONG_LEVEL and SHORT_FORM or LONG_FORM, now_us, number) or format('%d', number)
    elseif times == 1 then
      local missing = used_now + hits - capacity
      if missing <= 0 then
        reply[reply_at] = -2
      elseif hits > capacity then
        reply[reply_at] = -1
      else
        reply[reply_at] = rest_now and ceil((missing * window - rest_now) / requests) or reset_after_us
      end
      reply_at = reply_at + 1
    end
  end
  if not values then
    break
  end
else
  reply_at = fitting_to
end
