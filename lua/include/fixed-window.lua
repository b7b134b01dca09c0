--[[
Fixed window, pure: no redis.call here. Twin of src/engine/fixed-window.ts, which explains it.
State: { index = number of the window since 1970, used = hits used in it }; stored as "index used".
]]
local fixed_window = {}

local function window_index(window_us, now_us)
  return (now_us - fmod(now_us, window_us)) / window_us
end

function fixed_window.unpack(value)
  local index, used = string.match(value, '^(%d+) (%d+)$')
  return index and { index = tonumber(index), used = tonumber(used) }
end

function fixed_window.pack(state)
  return string.format('%.0f %.0f', state.index, state.used)
end

function fixed_window.fresh(limit, now_us)
  return { index = window_index(limit.window_us, now_us), used = 0 }
end

function fixed_window.is_ahead(state, limit, now_us)
  return state.index > window_index(limit.window_us, now_us)
end

function fixed_window.advance(state, limit, now_us)
  local index = window_index(limit.window_us, now_us)
  return { index = index, used = state.index < index and 0 or state.used }
end

function fixed_window.room(state, limit)
  return limit.capacity - state.used
end

function fixed_window.charge(state, hits)
  return { index = state.index, used = state.used + hits }
end

function fixed_window.refund(state, hits)
  return { index = state.index, used = math.max(0, state.used - hits) }
end

function fixed_window.retry_after_us(state, limit, hits, now_us)
  if state.used + hits <= limit.capacity then
    return 0
  end
  return limit.window_us - fmod(now_us, limit.window_us)
end

function fixed_window.reset_after_us(_, limit, now_us)
  return limit.window_us - fmod(now_us, limit.window_us)
end

function fixed_window.is_unused(state)
  return state.used == 0
end
