--[[
Decides a plain group that comes once in one pass, if all its takes fit: nearly every group. fitting_to is where the reply of the takes that fit
ends. If a take does not fit, or its value is unusual, plain-group.lua decides the group and undoes what was charged here.

A token bucket is one number here, its level: used * window_us - rest, in parts of a hit. Each elapsed microsecond
drains `requests` parts from it. The used hits are the level divided by window_us, rounded up. Both are exact while the level and a window are at
most EXACT_MAX; a product that is not exact is larger than every level.
]]
for place = first_place, times == 1 and last_place or 0 do
  local value, name, before, hits = values[place], place, nil, args[take_at] + 0
  local left, reset_after_us, text
  if not is_lone then
    name = keys[place]
    before = charged[name]
    value = before or value
  end
  if args[take_at + 1] ~= known_window then
    known_window = args[take_at + 1]
    window_us = known_window + 0
    local part_us = now_us % window_us
    -- In halves of a microsecond, like the value of a fixed window.
    starts_at, ends_after_us = 2 * (now_us - part_us), window_us - part_us
  end
  if hits < 0 then
    local used = -hits
    if value then
      local number = to_number(value)
      if not number or number < 0 or number % 1 ~= 0 then
        break
      elseif number >= starts_at then
        used = number - starts_at - hits
      end
    end
    left, reset_after_us = args[take_at + 2] - used, ends_after_us
    if left < 0 or used >= 2 * window_us or starts_at + used > EXACT_MAX then
      break
    end
    text = format('%d', starts_at + used)
    take_at = take_at + 3
  else
    local requests, level = args[take_at + 3] + 0, 0
    if value then
      local length = #value
      local at_us
      if length == SHORT_BYTES then
        at_us, level = unpack_bytes(SHORT_FORM, value)
      elseif length == LONG_BYTES then
        at_us, level = unpack_bytes(LONG_FORM, value)
      else
        break
      end
      if at_us > now_us or level > EXACT_MAX then
        break
      end
      level = level - (now_us - at_us) * requests
      if level < 0 then
        level = 0
      end
    end
    level = level + hits * window_us
    local most = level + window_us
    left = args[take_at + 2] - (level + -level % window_us) / window_us
    if left < 0 or most > EXACT_MAX or most > DURATION_US_MAX * requests then
      break
    end
    reset_after_us = ceil(level / requests)
    text = pack_bytes(level < LONG_LEVEL and SHORT_FORM or LONG_FORM, now_us, level)
    take_at = take_at + 4
  end
  if before then
    -- Kept, should a later take of the group not fit.
    replaced = replaced or {}
    replaced[place], has_repeats = before, true
  end
  charged[name], full_after_us[place] = text, reset_after_us
  reply[fitting_to], reply[fitting_to + 1] = left, reset_after_us
  fitting_to = fitting_to + 2
end
