--[[
Fixed window, pure: no redis.call here. Twin of src/domain/algorithm/fixed-window.ts, which explains it.
State: { index = number of the window since 1970 (of a calendar window its start), used = hits used in it }. Stored as one whole number, which Redis
holds in 8 bytes: the start of the window in halves of a microsecond, plus the used hits. That would be ambiguous with 2 hits per microsecond
of the window or more, in a calendar window, and from the year 2112 on: there the text "index used" is stored.
]]
--- @needs "numbers"
-- Named here, so that the table never grows.
local fixed_window = {
  unpack = nil, pack = nil, to_numbers = nil, fresh = nil, is_ahead = nil, advance = nil, room = nil,
  charge = nil, refund = nil, give_back = nil, retry_after_us = nil, reset_after_us = nil, is_unused = nil,
}

-- The window that holds now_us: its number (of a calendar window its start, in us), and when it ends.
local function window_at(limit, now_us)
  if not limit.edges_us then
    local part_us = now_us % limit.window_us
    return (now_us - part_us) / limit.window_us, limit.window_us - part_us
  end
  local edges_us = limit.edges_us
  local next_edge = 2
  while edges_us[next_edge] <= now_us do
    next_edge = next_edge + 1
  end
  return edges_us[next_edge - 1], edges_us[next_edge] - now_us
end

function fixed_window.unpack(value, limit)
  local number = to_number(value)
  if number then
    -- Nobody has written a number for a calendar window.
    if limit.edges_us or number < 0 or number > EXACT_MAX or number % 1 ~= 0 then
      return nil
    end
    local used = number % (2 * limit.window_us)
    return { index = (number - used) / (2 * limit.window_us), used = used }
  end
  local index, used = match(value, '^(%d+) (%d+)$')
  if not index or index + 0 > EXACT_MAX or used + 0 > EXACT_MAX then
    return nil
  end
  return { index = index + 0, used = used + 0 }
end

function fixed_window.pack(state, limit)
  local length = 2 * limit.window_us
  local number = state.index * length + state.used
  if limit.edges_us or state.used >= length or number > EXACT_MAX then
    return format('%d %d', state.index, state.used)
  end
  return format('%d', number)
end

function fixed_window.to_numbers(state)
  return state.used, 0
end

function fixed_window.fresh(limit, now_us)
  return { index = (window_at(limit, now_us)), used = 0 }
end

function fixed_window.is_ahead(state, limit, now_us)
  return state.index > (window_at(limit, now_us))
end

function fixed_window.advance(state, limit, now_us)
  local index = window_at(limit, now_us)
  return { index = index, used = state.index < index and 0 or state.used }
end

function fixed_window.room(state, limit)
  return limit.capacity - state.used
end

function fixed_window.charge(state, hits)
  -- In place: the state is one that advance or fresh has just made.
  state.used = state.used + hits
  return state
end

function fixed_window.refund(state, hits)
  return { index = state.index, used = max(0, state.used - hits) }
end

function fixed_window.give_back(state, limit, hits, taken_at_us)
  -- With its window the hits of a take are gone.
  local given = 0
  if window_at(limit, taken_at_us) == state.index then
    given = min(hits, state.used)
  end
  return { index = state.index, used = state.used - given }, given
end

function fixed_window.retry_after_us(state, limit, hits, now_us)
  if state.used + hits <= limit.capacity then
    return 0
  end
  local _, ends_after_us = window_at(limit, now_us)
  return ends_after_us
end

function fixed_window.reset_after_us(_, limit, now_us)
  local _, ends_after_us = window_at(limit, now_us)
  return ends_after_us
end

function fixed_window.is_unused(state)
  return state.used == 0
end

return fixed_window
