--[[
Budget, pure: no redis.call here. Twin of src/domain/algorithm/budget.ts, which explains it.
State: { spent = charged hits less those given back }. Stored as digits, with a minus if credits have raised the budget.
]]
--- @needs "numbers"
-- Named here, so that the table never grows. Buckets of a kept engine have no TTL.
local budget = {
  unpack = nil, pack = nil, to_numbers = nil, fresh = nil, is_ahead = nil, advance = nil, room = nil,
  charge = nil, refund = nil, give_back = nil, retry_after_us = nil, reset_after_us = nil, is_unused = nil, is_kept = true,
}

function budget.unpack(value)
  local spent = match(value, '^%-?%d+$') and to_number(value)
  if not spent or spent > EXACT_MAX or spent < -EXACT_MAX then
    return nil
  end
  return { spent = spent }
end

function budget.pack(state)
  return format('%d', state.spent)
end

function budget.fresh()
  return { spent = 0 }
end

function budget.is_ahead()
  return false
end

function budget.advance(state)
  -- A new one, since charge changes it in place.
  return { spent = state.spent }
end

function budget.room(state, limit)
  return min(EXACT_MAX, limit.capacity - state.spent)
end

function budget.charge(state, hits)
  state.spent = state.spent + hits
  return state
end

function budget.refund(state, hits)
  return { spent = max(-EXACT_MAX, state.spent - hits) }
end

function budget.give_back(state, _, hits)
  local after = max(-EXACT_MAX, state.spent - hits)
  return { spent = after }, min(hits, state.spent - after)
end

function budget.retry_after_us(state, limit, hits)
  return hits <= budget.room(state, limit) and 0 or -1
end

function budget.reset_after_us()
  return DURATION_US_MAX
end

function budget.is_unused()
  return false
end

return budget
