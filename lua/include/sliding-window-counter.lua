--[[
Sliding window counter, pure: no redis.call here. Twin of src/domain/algorithm/sliding-window-counter.ts, which explains it.
State: { index = number of the window since 1970, current, previous = hits of it and of the one before, elapsed_us };
stored as "index current previous".
]]
--- @needs "numbers" "arithmetic"
-- Named here, so that the table never grows.
local sliding_window_counter = {
  unpack = nil, pack = nil, to_numbers = nil, fresh = nil, is_ahead = nil, advance = nil, room = nil,
  charge = nil, refund = nil, give_back = nil, retry_after_us = nil, reset_after_us = nil, is_unused = nil,
}

-- hits * overlap_us / window_us, rounded up.
local function weigh(hits, overlap_us, window_us)
  if overlap_us == window_us then
    return hits
  end
  local quotient, remainder = multiply_divide(overlap_us, hits, window_us)
  if remainder > 0 then
    return quotient + 1
  end
  return quotient
end

-- How far a window must have gone for these hits of the one before to weigh no more than allowed.
local function elapsed_until(hits, allowed, window_us)
  if hits <= allowed then
    return 0
  end
  local quotient = multiply_divide(allowed, window_us, hits)
  return window_us - quotient
end

function sliding_window_counter.unpack(value)
  local index, current, previous = match(value, '^(%d+) (%d+) (%d+)$')
  if not index or index + 0 > EXACT_MAX or current + 0 > EXACT_MAX or previous + 0 > EXACT_MAX then
    return nil
  end
  -- Adding 0 makes a number of digits at less than tonumber does.
  return { index = index + 0, current = current + 0, previous = previous + 0 }
end

function sliding_window_counter.pack(state)
  return format('%d %d %d', state.index, state.current, state.previous)
end

function sliding_window_counter.to_numbers(state)
  return state.current, state.previous
end

function sliding_window_counter.fresh(limit, now_us)
  local elapsed_us = now_us % limit.window_us
  return { index = (now_us - elapsed_us) / limit.window_us, current = 0, previous = 0, elapsed_us = elapsed_us }
end

function sliding_window_counter.is_ahead(state, limit, now_us)
  return state.index > sliding_window_counter.fresh(limit, now_us).index
end

function sliding_window_counter.advance(state, limit, now_us)
  local now = sliding_window_counter.fresh(limit, now_us)
  if state.index >= now.index then
    now.current, now.previous = state.current, state.previous
  elseif state.index == now.index - 1 then
    now.previous = state.current
  end
  return now
end

function sliding_window_counter.room(state, limit)
  local weight = weigh(state.previous, limit.window_us - state.elapsed_us, limit.window_us)
  return max(-EXACT_MAX, limit.capacity - state.current - weight)
end

local function with_hits(state, current, previous)
  return { index = state.index, current = current, previous = previous, elapsed_us = state.elapsed_us }
end

function sliding_window_counter.charge(state, hits)
  -- In place: the state is one that advance or fresh has just made.
  state.current = state.current + hits
  return state
end

function sliding_window_counter.refund(state, hits)
  local of_previous = max(0, hits - state.current)
  return with_hits(state, max(0, state.current - hits), max(0, state.previous - of_previous))
end

function sliding_window_counter.give_back(state, limit, hits, taken_at_us)
  local index = sliding_window_counter.fresh(limit, taken_at_us).index
  if index == state.index then
    local given = min(hits, state.current)
    return with_hits(state, state.current - given, state.previous), given
  end
  if index == state.index - 1 then
    local given = min(hits, state.previous)
    return with_hits(state, state.current, state.previous - given), given
  end
  return state, 0
end

function sliding_window_counter.retry_after_us(state, limit, hits)
  local capacity, window_us = limit.capacity, limit.window_us
  -- In this window the current hits stay; in the next one they are the earlier ones.
  if state.current + hits <= capacity then
    return max(0, elapsed_until(state.previous, capacity - state.current - hits, window_us) - state.elapsed_us)
  end
  return window_us - state.elapsed_us + elapsed_until(state.current, capacity - hits, window_us)
end

function sliding_window_counter.reset_after_us(state, limit)
  local window_end_us = limit.window_us - state.elapsed_us
  if state.current > 0 then
    return window_end_us + limit.window_us
  end
  if state.previous > 0 then
    return window_end_us
  end
  return limit.requests == 0 and limit.window_us or 0
end

function sliding_window_counter.is_unused(state)
  return state.current == 0 and state.previous == 0
end

return sliding_window_counter
