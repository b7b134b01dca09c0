--[[
The steps of a reservation, pure: no redis.call here. Twin of src/domain/decide/reservation.ts, which explains them.

A record is { state, flags, asked, granted, made_us, expires_us, keep_us, actual, cut, charged, used_before, plan }: numbers, but for
charged and used_before (a number for each leg) and plan, a text. A leg is { bucket, limit, overdraft_max, keeps }.
]]
--- @needs "numbers" "adjust-bucket"
local HELD, COMMITTED, RELEASED, LAPSED = 1, 2, 3, 4
local LATE, UNKNOWN = 1, 2
-- The numbers that every record has, in one match: a match for each takes three times as long.
local RECORD_HEAD = '^' .. string.rep('(%d+) ', 8) .. '(%d+)()'
local LIFE_MAX_US = 86400000000

local function unpack_record(value)
  local state, flags, asked, granted, made_us, expires_us, keep_us, actual, cut, legs_at = match(value, RECORD_HEAD)
  local plan_at = string.find(value, '\n')
  if not (state and plan_at) then
    return nil
  end
  local record = {
    state = state + 0, flags = flags + 0, asked = asked + 0, granted = granted + 0, made_us = made_us + 0,
    expires_us = expires_us + 0, keep_us = keep_us + 0, actual = actual + 0, cut = cut + 0,
    charged = {}, used_before = {}, plan = string.sub(value, plan_at + 1),
  }
  for charged, used_before in string.gmatch(string.sub(value, legs_at, plan_at), '(%d+) (%d+)') do
    local leg = #record.charged + 1
    record.charged[leg], record.used_before[leg] = charged + 0, used_before + 0
  end
  return record
end

local function pack_record(record)
  local numbers = {
    record.state, record.flags, record.asked, record.granted, record.made_us,
    record.expires_us, record.keep_us, record.actual, record.cut,
  }
  for leg = 1, #record.charged do
    numbers[#numbers + 1] = record.charged[leg]
    numbers[#numbers + 1] = max(0, record.used_before[leg])
  end
  -- All at once: to format each takes three times as long.
  return format(string.rep('%d ', #numbers - 1) .. '%d\n', unpack(numbers)) .. record.plan
end

-- How many hits of those asked for the shares leave room for. `names[i]` is what leg i counts in, share_max[i] its share (-1: none).
local function grantable(asked, names, share_max, held)
  local legs_of = {}
  for i = 1, #names do
    legs_of[names[i]] = (legs_of[names[i]] or 0) + 1
  end
  local granted = asked
  for i = 1, #names do
    if share_max[i] >= 0 then
      local left = max(0, share_max[i] - held[names[i]])
      local legs = legs_of[names[i]]
      granted = min(granted, (left - left % legs) / legs)
    end
  end
  return granted
end

-- The hits that each leg was charged, and those used in its bucket before. `room[i]`: left after all of them, of a leg that fits.
local function charged_legs(granted, names, capacity, fits, room)
  local charged, used_before, used = {}, {}, {}
  for i = #names, 1, -1 do
    charged[i], used_before[i] = 0, 0
    if fits[i] then
      local used_after = used[names[i]] or (capacity[i] - room[i])
      charged[i] = granted
      used_before[i] = used_after - granted
      used[names[i]] = used_before[i]
    end
  end
  return charged, used_before
end

-- The hits that leg i is charged in the end.
local function wanted(record, legs, i, target, actual)
  if target == COMMITTED then
    return actual
  end
  if target == LAPSED and legs[i].keeps then
    return record.charged[i]
  end
  return 0
end

-- Charges a leg, or gives back, until it has what it is to have; says how many hits lie beyond its overdraft.
local function settle_leg(record, legs, i, hits, now_us)
  local leg = legs[i]
  local applied = 0
  if leg.bucket.state ~= false then
    applied = adjust_bucket({
      bucket = leg.bucket, limit = leg.limit, hits = hits, taken_at_us = record.made_us,
      used_before = record.used_before[i], overdraft_max = leg.overdraft_max,
    }, now_us)
  end
  if hits < 0 then
    record.charged[i] = record.charged[i] + hits
    return 0
  end
  -- Only a commit charges more, and nobody asks for the charges of one.
  return hits - max(0, applied)
end

-- Brings the record to its next state, and its buckets to what follows from it.
local function settle_record(record, legs, target, actual, now_us)
  if target ~= LAPSED and (record.state == LAPSED or (record.state == HELD and record.expires_us <= now_us)) then
    record.flags = record.flags + LATE
  end
  for i = #legs, 1, -1 do
    local hits = wanted(record, legs, i, target, actual) - record.charged[i]
    if hits < 0 then
      settle_leg(record, legs, i, hits, now_us)
    end
  end
  record.cut = 0
  for i = 1, #legs do
    local hits = wanted(record, legs, i, target, actual) - record.charged[i]
    if hits > 0 then
      record.cut = max(record.cut, settle_leg(record, legs, i, hits, now_us))
    end
  end
  record.state = target
  if target == COMMITTED then
    record.actual = actual
  end
  if target ~= LAPSED then
    -- Nothing changes any more, so nobody asks for these again.
    record.charged, record.used_before, record.plan = {}, {}, ''
  end
end

-- The record of hits that were used under an id that nobody knows.
local function unknown_record(leg_count, keep_us, now_us)
  local record = {
    state = LAPSED, flags = UNKNOWN, asked = 0, granted = 0, made_us = now_us, expires_us = now_us, keep_us = keep_us,
    actual = 0, cut = 0, charged = {}, used_before = {}, plan = '',
  }
  for i = 1, leg_count do
    record.charged[i], record.used_before[i] = 0, 0
  end
  return record
end

-- Later, never sooner, and never beyond the longest life of a reservation.
local function extended_until_us(record, ttl_us, now_us)
  return max(record.expires_us, min(record.made_us + LIFE_MAX_US, now_us + ttl_us))
end

-- Whether a step of that target changes nothing of the record any more.
local function is_settled(record, target, now_us)
  if record.state == COMMITTED or record.state == RELEASED then
    return true
  end
  return target == LAPSED and (record.state == LAPSED or record.expires_us > now_us)
end
