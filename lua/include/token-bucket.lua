--[[
Token bucket, pure: no redis.call here. Twin of src/domain/algorithm/token-bucket.ts, which explains it.
State: { used = hits used, rest = parts of 1 / window_us hit, at_us = when }. Stored as 12 bytes: at_us in 7, and the level, used * window_us - rest,
in 5. A level of 2^40 or more takes 7 bytes. A level beyond 2^53 is stored as the text "used rest at_us".
The first byte of at_us is below every digit, so bytes and text are never confused.
]]
--- @needs "numbers" "arithmetic"
-- Named here, so that the table never grows.
local token_bucket = {
  unpack = nil, pack = nil, to_numbers = nil, fresh = nil, is_ahead = nil, advance = nil, room = nil,
  charge = nil, refund = nil, give_back = nil, retry_after_us = nil, reset_after_us = nil, is_unused = nil,
}

function token_bucket.unpack(value, limit)
  local length, window_us = #value, limit.window_us
  if length == 12 or length == 14 then
    local at_us, level = unpack_bytes(length == 12 and '>I7I5' or '>I7I7', value)
    if at_us <= EXACT_MAX and level <= EXACT_MAX then
      local part = level % window_us
      local used = (level - part) / window_us
      return part > 0 and { used = used + 1, rest = window_us - part, at_us = at_us } or { used = used, rest = 0, at_us = at_us }
    end
  end
  local used, rest, at_us = match(value, '^(%d+) (%d+) (%d+)$')
  if not used or used + 0 > EXACT_MAX or rest + 0 >= window_us or at_us + 0 > EXACT_MAX then
    return nil
  end
  -- Adding 0 makes a number of digits at less than tonumber does.
  return { used = used + 0, rest = rest + 0, at_us = at_us + 0 }
end

function token_bucket.pack(state, limit)
  local parts = state.used * limit.window_us
  if parts > EXACT_MAX then
    return format('%d %d %d', state.used, state.rest, state.at_us)
  end
  local level = parts - state.rest
  return pack_bytes(level < 1099511627776 and '>I7I5' or '>I7I7', state.at_us, level)
end

function token_bucket.to_numbers(state)
  return state.used, state.rest
end

function token_bucket.fresh(_, now_us)
  return { used = 0, rest = 0, at_us = now_us }
end

function token_bucket.is_ahead(state, _, now_us)
  return state.at_us > now_us
end

function token_bucket.advance(state, limit, now_us)
  local elapsed_us = max(0, now_us - state.at_us)
  local hits, rest = refill(elapsed_us, state.rest, limit.requests, limit.window_us)
  if hits >= state.used then
    return { used = 0, rest = 0, at_us = now_us }
  end
  return { used = state.used - hits, rest = rest, at_us = now_us }
end

function token_bucket.room(state, limit)
  return limit.capacity - state.used
end

function token_bucket.charge(state, hits)
  -- In place: the state is one that advance or fresh has just made.
  state.used = state.used + hits
  return state
end

function token_bucket.refund(state, hits)
  if hits >= state.used then
    return { used = 0, rest = 0, at_us = state.at_us }
  end
  return { used = state.used - hits, rest = state.rest, at_us = state.at_us }
end

function token_bucket.give_back(state, limit, hits, taken_at_us, used_before)
  local flowed, lost_rest = refill(max(0, state.at_us - taken_at_us), 0, limit.requests, limit.window_us)
  local lost = flowed - max(0, used_before - 1)
  if lost < 0 then
    lost, lost_rest = 0, 0
  end
  local given = min(hits - lost, state.used)
  if given <= 0 then
    return state, 0
  end
  local used, rest = state.used - (hits - lost), state.rest - lost_rest
  if rest < 0 then
    used, rest = used + 1, rest + limit.window_us
  end
  if used <= 0 then
    return { used = 0, rest = 0, at_us = state.at_us }, given
  end
  return { used = used, rest = rest, at_us = state.at_us }, given
end

function token_bucket.retry_after_us(state, limit, hits)
  -- Used hits and these may be more than EXACT_MAX together.
  local missing = hits - (limit.capacity - state.used)
  return time_to_refill(missing, state.rest, limit.requests, limit.window_us)
end

function token_bucket.reset_after_us(state, limit)
  if limit.requests == 0 then
    return limit.window_us
  end
  return time_to_refill(state.used, state.rest, limit.requests, limit.window_us)
end

function token_bucket.is_unused(state)
  return state.used == 0
end

return token_bucket
