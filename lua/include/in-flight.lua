--[[
Requests in flight, pure: no redis.call here. Twin of src/domain/algorithm/in-flight.ts, which explains it.
State: { slots = records, oldest first, now_us = when it was last looked at }; stored as the records alone, each the time in
microseconds at which the slot was taken (7 bytes, big-endian) and its id (8 bytes; all zero: it has none).
]]
-- Named here, so that the table never grows.
local in_flight = {
  unpack = nil, pack = nil, fresh = nil, is_ahead = nil, advance = nil, room = nil, charge = nil, refund = nil,
  holds = nil, give_back = nil, retry_after_us = nil, reset_after_us = nil, is_unused = nil,
}

local TIME_BYTES, SLOT_BYTES = 7, 15
local ANONYMOUS = string.rep('\0', 8)

local function slot_count(state)
  return #state.slots / SLOT_BYTES
end

-- When the slot of that number was taken, 1 the oldest.
local function taken_at_us(state, number)
  return (struct.unpack('>I7', state.slots, (number - 1) * SLOT_BYTES + 1))
end

local function slot_id(state, number)
  return string.sub(state.slots, (number - 1) * SLOT_BYTES + TIME_BYTES + 1, number * SLOT_BYTES)
end

-- The slots from first to last, both included.
local function slots_between(state, first, last)
  return string.sub(state.slots, (first - 1) * SLOT_BYTES + 1, last * SLOT_BYTES)
end

local function pack_slot(at_us, id)
  return struct.pack('>I7', at_us) .. id
end

-- The first slot that was taken after that time; one more than there are if none was.
local function first_after(state, at_us)
  local low, high = 1, slot_count(state) + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if taken_at_us(state, middle) > at_us then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- The oldest slot of that id, or nil. The same bytes may lie across two fields: that is none.
local function find_slot(state, id)
  local at = TIME_BYTES
  repeat
    at = string.find(state.slots, id, at + 1, true)
  until not at or (at - 1) % SLOT_BYTES == TIME_BYTES
  return at and (at - 1 - TIME_BYTES) / SLOT_BYTES + 1
end

local function without(state, number)
  local slots = slots_between(state, 1, number - 1) .. slots_between(state, number + 1, slot_count(state))
  return { slots = slots, now_us = state.now_us }
end

function in_flight.unpack(value)
  if #value % SLOT_BYTES ~= 0 then
    return nil
  end
  return { slots = value }
end

function in_flight.pack(state)
  return state.slots
end

function in_flight.fresh(_, now_us)
  return { slots = '', now_us = now_us }
end

function in_flight.is_ahead(state, _, now_us)
  local count = slot_count(state)
  return count > 0 and taken_at_us(state, count) > now_us
end

function in_flight.advance(state, limit, now_us)
  local count = slot_count(state)
  local first, ahead = first_after(state, now_us - limit.window_us), first_after(state, now_us)
  if ahead > count then
    return { slots = slots_between(state, first, count), now_us = now_us }
  end
  -- Slots from after now were taken before the clock stepped back: they are of now.
  local retimed = {}
  for number = ahead, count do
    retimed[#retimed + 1] = pack_slot(now_us, slot_id(state, number))
  end
  return { slots = slots_between(state, first, ahead - 1) .. table.concat(retimed), now_us = now_us }
end

function in_flight.room(state, limit)
  return limit.capacity - slot_count(state)
end

function in_flight.charge(state, hits, id)
  return { slots = state.slots .. string.rep(pack_slot(state.now_us, id or ANONYMOUS), hits), now_us = state.now_us }
end

function in_flight.refund(state, hits, id)
  if not id then
    return { slots = slots_between(state, hits + 1, slot_count(state)), now_us = state.now_us }
  end
  local number = find_slot(state, id) or find_slot(state, ANONYMOUS)
  return number and without(state, number) or state
end

function in_flight.holds(state, id)
  return find_slot(state, id) ~= nil
end

function in_flight.give_back(state, _, hits, taken_us, _, id)
  local given, number = 0, first_after(state, taken_us - 1)
  while given < hits and number <= slot_count(state) and taken_at_us(state, number) == taken_us do
    if slot_id(state, number) == (id or ANONYMOUS) then
      state = without(state, number)
      given = given + 1
    else
      number = number + 1
    end
  end
  return state, given
end

function in_flight.retry_after_us(state, limit, hits, now_us)
  local missing = hits - (limit.capacity - slot_count(state))
  if missing <= 0 then
    return 0
  end
  return taken_at_us(state, missing) + limit.window_us - now_us
end

function in_flight.reset_after_us(state, limit, now_us)
  local count = slot_count(state)
  if count > 0 then
    return taken_at_us(state, count) + limit.window_us - now_us
  end
  return limit.requests == 0 and limit.window_us or 0
end

function in_flight.is_unused(state)
  return state.slots == ''
end

return in_flight
