--[[
Charges a plain take to the stored value of its bucket, if it fits. Pure: no redis.call here. Both functions come to what decide-group.lua comes
to, in one step and without a table.

They get the stored value (false: the bucket does not exist), the time, the hits and the limit. They return what remains, the time until the bucket is full, its
new value, and its state before the take as the two numbers of a fold's reply; of a fixed window also whether the value is of the window in course. They return nil if
the hits do not fit, or if the value or a number is unusual: then decide-group.lua has to decide.

They use no local from outside: each one would cost every run as much as a call.
]]

-- Charges a token bucket or a leaky bucket. It is one number here, its level: used * window_us - rest, in parts of a hit. Each elapsed microsecond drains
-- `requests` parts from it. All is exact while the level and a window are at most EXACT_MAX; a product that is not exact is larger than every level.
local function charge_tokens(value, now_us, hits, window_us, capacity, requests)
  local EXACT_MAX, DURATION_US_MAX, LONG_LEVEL = 9007199254740991, 3153600000000000, 1099511627776
  local level = 0
  if value then
    local length = #value
    local at_us
    if length == 12 then
      at_us, level = struct.unpack('>I7I5', value)
    elseif length == 14 then
      at_us, level = struct.unpack('>I7I7', value)
    else
      return nil
    end
    if at_us > now_us or level > EXACT_MAX then
      return nil
    end
    level = level - (now_us - at_us) * requests
    if level < 0 then
      level = 0
    end
  end
  local rest = -level % window_us
  local used = (level + rest) / window_us
  local left = capacity - used - hits
  level = level + hits * window_us
  local most = level + window_us
  if left < 0 or most > EXACT_MAX or most > DURATION_US_MAX * requests then
    return nil
  end
  -- Rounded up as arithmetic.lua says; % costs less than to call math.ceil.
  local reset_after_us = level / requests
  return left, reset_after_us + -reset_after_us % 1, struct.pack(level < LONG_LEVEL and '>I7I5' or '>I7I7', now_us, level), used, rest
end

-- Charges a fixed window of a fixed length. Its new value is a number.
local function charge_window(value, now_us, hits, window_us, capacity)
  local EXACT_MAX = 9007199254740991
  local part_us = now_us % window_us
  -- In halves of a microsecond, like the value.
  local starts_at, used, is_in_course = 2 * (now_us - part_us), 0, false
  if value then
    local number = tonumber(value)
    if not number or number < 0 or number % 1 ~= 0 then
      return nil
    elseif number >= starts_at then
      -- A value of a later window yields more hits than are accepted below.
      used, is_in_course = number - starts_at, true
    end
  end
  local charged = used + hits
  local left = capacity - charged
  if left < 0 or charged >= 2 * window_us or starts_at + charged > EXACT_MAX then
    return nil
  end
  return left, window_us - part_us, starts_at + charged, used, 0, is_in_course
end
