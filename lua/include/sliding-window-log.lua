--[[
Sliding window log, pure: no redis.call here. Twin of src/domain/algorithm/sliding-window-log.ts, which explains it.
State: { before = all hits before the first record, log = records, now_us = when it was last looked at }; stored as
"before" (4 bytes) and the records, each its time in microseconds (7 bytes) and all hits up to it (4 bytes), big-endian,
sums modulo 2^32. A record is found by its number, so nothing is parsed that is not asked for.
]]
-- Named here, so that the table never grows.
local sliding_window_log = {
  unpack = nil, pack = nil, fresh = nil, is_ahead = nil, advance = nil, room = nil, charge = nil,
  refund = nil, give_back = nil, retry_after_us = nil, reset_after_us = nil, is_unused = nil,
}

local TOTAL_MODULUS = 4294967296
local RECORD_BYTES = 11

local function log_length(state)
  return #state.log / RECORD_BYTES
end

-- Time and total of the record of that number, 1 the oldest.
local function log_record(state, number)
  local at_us, total = struct.unpack('>I7I4', state.log, (number - 1) * RECORD_BYTES + 1)
  return at_us, total
end

-- The records from first to last, both included.
local function log_slice(state, first, last)
  return string.sub(state.log, (first - 1) * RECORD_BYTES + 1, last * RECORD_BYTES)
end

local function pack_record(at_us, total)
  return struct.pack('>I7I4', at_us, total)
end

local function last_total(state)
  local length = log_length(state)
  if length == 0 then
    return state.before
  end
  local _, total = log_record(state, length)
  return total
end

local function used_hits(state)
  return (last_total(state) - state.before) % TOTAL_MODULUS
end

-- The first number for which the test holds, given that it then holds for all that follow; length + 1 if for none.
local function first_where(state, holds)
  local low, high = 1, log_length(state) + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if holds(log_record(state, middle)) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- The first record at which the sum of hits reaches a number.
local function first_with_hits(state, hits)
  return first_where(state, function(_, total)
    return (total - state.before) % TOTAL_MODULUS >= hits
  end)
end

function sliding_window_log.unpack(value)
  if #value < 4 or (#value - 4) % RECORD_BYTES ~= 0 then
    return nil
  end
  return { before = (struct.unpack('>I4', value)), log = string.sub(value, 5) }
end

function sliding_window_log.pack(state)
  return struct.pack('>I4', state.before) .. state.log
end

function sliding_window_log.fresh(_, now_us)
  return { before = 0, log = '', now_us = now_us }
end

function sliding_window_log.is_ahead(state, _, now_us)
  local length = log_length(state)
  return length > 0 and log_record(state, length) > now_us
end

function sliding_window_log.advance(state, limit, now_us)
  local length = log_length(state)
  -- A hit counts for exactly one window: at its end it is gone.
  local first = first_where(state, function(at_us)
    return at_us > now_us - limit.window_us
  end)
  local before = state.before
  if first > 1 then
    local _
    _, before = log_record(state, first - 1)
  end
  if length == 0 or log_record(state, length) < now_us then
    return { before = before, log = log_slice(state, first, length), now_us = now_us }
  end
  -- Hits from after now were taken before the clock stepped back: they are hits of now.
  local ahead = first_where(state, function(at_us)
    return at_us >= now_us
  end)
  local log = log_slice(state, first, ahead - 1) .. pack_record(now_us, last_total(state))
  return { before = before, log = log, now_us = now_us }
end

function sliding_window_log.room(state, limit)
  return limit.capacity - used_hits(state)
end

function sliding_window_log.charge(state, hits)
  local kept = log_length(state)
  if kept > 0 and log_record(state, kept) == state.now_us then
    kept = kept - 1
  end
  local total = (last_total(state) + hits) % TOTAL_MODULUS
  local log = log_slice(state, 1, kept) .. pack_record(state.now_us, total)
  return { before = state.before, log = log, now_us = state.now_us }
end

function sliding_window_log.refund(state, hits)
  local left = used_hits(state) - hits
  if left <= 0 then
    return { before = state.before, log = '', now_us = state.now_us }
  end
  -- The newest hits go first; the record in which they end keeps the rest.
  local last = first_with_hits(state, left)
  local log = log_slice(state, 1, last - 1) .. pack_record(log_record(state, last), (state.before + left) % TOTAL_MODULUS)
  return { before = state.before, log = log, now_us = state.now_us }
end

function sliding_window_log.give_back(state, _, hits, taken_at_us)
  local length = log_length(state)
  local number = first_where(state, function(at_us)
    return at_us >= taken_at_us
  end)
  if number > length or log_record(state, number) ~= taken_at_us then
    return state, 0
  end
  local total_before = state.before
  if number > 1 then
    local _
    _, total_before = log_record(state, number - 1)
  end
  local _, total = log_record(state, number)
  local of_record = (total - total_before) % TOTAL_MODULUS
  local given = math.min(hits, of_record)
  -- A record without hits is none.
  local first_kept = given == of_record and number + 1 or number
  local lowered = {}
  for later = first_kept, length do
    local at_us, later_total = log_record(state, later)
    lowered[#lowered + 1] = pack_record(at_us, (later_total - given) % TOTAL_MODULUS)
  end
  return { before = state.before, log = log_slice(state, 1, number - 1) .. table.concat(lowered), now_us = state.now_us }, given
end

function sliding_window_log.retry_after_us(state, limit, hits, now_us)
  local missing = hits - (limit.capacity - used_hits(state))
  if missing <= 0 then
    return 0
  end
  return log_record(state, first_with_hits(state, missing)) + limit.window_us - now_us
end

function sliding_window_log.reset_after_us(state, limit, now_us)
  local length = log_length(state)
  if length > 0 then
    return log_record(state, length) + limit.window_us - now_us
  end
  return limit.requests == 0 and limit.window_us or 0
end

function sliding_window_log.is_unused(state)
  return state.log == ''
end

return sliding_window_log
