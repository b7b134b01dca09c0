--[[
The steps of reservations: hits charged under an id for a time, then committed, released or lapsed. Each step on one reading of
Redis's clock, and each once, however often it is sent: a record under the id keeps what became of it.

KEYS[1]   the record of the reservation, or of "due" the lapse index
KEYS[2]   the lapse index: the ids of reservations that are held, by the time at which they lapse
KEYS[3…]  of "reserve" and "settle" two for each leg: its bucket, and how many hits of the bucket are held

ARGV[1]   the step, and then
          "read":    nothing
          "reserve": id, asked (hits for each leg; 0 a check), ttl_us, keep_us (how long the record is kept after the last step), flags (a sum of 1:
                     shadow, 2: a quota descriptor always fits), plan (a text that is kept), and for each leg: algorithm, mode (0 enforced,
                     1 quota, 2 shadow), descriptor, share_max (most hits of its bucket that may be held; -1: any), limit
          "settle":  id, target (2 committed, 3 released, 4 lapsed), actual (hits used, of a commit), keep_us, plan (of the record that was read;
                     without a record, the one to be kept), and for each leg: algorithm, overdraft_max, keeps (1: lapsed hits stay
                     charged), 0, limit
          "extend":  id, ttl_us
          "due":     most ids
          A limit is as in take.lua (include/limit.lua). Whole numbers all, in decimal, but for id and plan.

Reply     now_us, and then
          "read":    the record, or nil
          "reserve": 1, the record that was there | -1 a bucket can't be read | -2 now_us lies outside the edges of a limit |
                     -3 it can't be decided | 2 denied, 3 allowed: ids that are due, granted (0 of a denied one: the shares leave
                     no room), what take.lua answers on the group (of shares without room: on one hit, dry), of an allowed one the record
          "settle":  0 there is no record of what is to lapse | 1, the record, as it was | 2, the record, changed | 3, the record: it has
                     another plan, nothing is done
          "extend":  0 there is no record | 1, the record, as it was | 2, the record, changed
          "due":     ids in the index, and of those whose time is over some, the first first

Buckets are read first and written last (include/buckets.lua), then the counts of held hits, the index, the record. No key but those
in KEYS is touched. An index without ids says that nothing is held, whatever the counts say.
]]
--- @include "numbers"
--- @include "arithmetic"
--- @include "limit"
--- @load "token-bucket"
--- @load "leaky-bucket"
--- @load "fixed-window"
--- @load "sliding-window-log"
--- @load "sliding-window-counter"
--- @load "in-flight"
--- @include "decide-group"
--- @include "settle-bucket"
--- @include "reservation"
--- @include "server-time"
--- @include "writing"
--- @include "buckets"

local UNREADABLE, OUTSIDE, UNDECIDABLE = -1, -2, -3
local FIRST_LEG_KEY = 3
local record_key, index_key = KEYS[1], KEYS[2]
local now_us = server_time_us()

local function read_record()
  local value = call_redis('GET', record_key)
  return value and unpack_record(value), value
end

local function write_record(record)
  local value = pack_record(record)
  call_redis('SET', record_key, value, 'PX', ttl_ms(record.keep_us + max(0, record.expires_us - now_us)))
  return value
end

-- By their keys: hits that are held.
local function read_held(leg_count)
  local held, is_empty = {}, call_redis('ZCARD', index_key) == 0
  for i = 1, leg_count do
    local key = KEYS[FIRST_LEG_KEY + 2 * i - 1]
    held[key] = held[key] or (not is_empty and tonumber(call_redis('GET', key) or 0)) or 0
  end
  return held
end

local function write_held(held)
  for key, hits in pairs(held) do
    if hits > 0 then
      call_redis('SET', key, format('%.0f', hits), 'PX', format('%.0f', LIFE_MAX_US / 1000))
    else
      call_redis('DEL', key)
    end
  end
end

-- Limits and buckets of the legs whose arguments begin at `at`: each its algorithm, three numbers, which `names` names, and its limit.
local function read_legs(at, names)
  local legs = {}
  while at <= #ARGV do
    local i = #legs + 1
    local limit, next_at = limit_at(at + 4)
    local engine = engine_of(tonumber(ARGV[at]))
    local leg = { engine = engine, limit = limit, bucket = bucket_of(KEYS[FIRST_LEG_KEY + 2 * (i - 1)], engine, limit), held_key = KEYS[FIRST_LEG_KEY + 2 * i - 1] }
    for n = 1, 3 do
      leg[names[n]] = tonumber(ARGV[at + n])
    end
    legs[i] = leg
    at = next_at
  end
  return legs
end

local function is_readable(legs)
  for i = 1, #legs do
    if legs[i].bucket.state == false then
      return false
    end
  end
  return true
end

local function take_of(leg, hits)
  return { bucket = leg.bucket, engine = leg.engine, limit = leg.limit, hits = hits, mode = leg.mode, descriptor = leg.descriptor }
end

local function group_of(legs, hits, flags)
  local group = { shadow = flags % 2 == 1, quota_always_fits = flags >= 2, dry = false, has_reports = false, takes = {} }
  for i = 1, #legs do
    group.takes[i] = take_of(legs[i], hits)
  end
  return group
end

-- Of each leg whether it fits and what remains, out of what take.lua answers on the group; all of them fit if it begins with a remaining.
local function read_answer(answer, leg_count)
  local fits, room = {}, {}
  local all_fit = answer[1] >= 0
  for i = 1, leg_count do
    local at = all_fit and 2 * i - 1 or 3 * i - 1
    fits[i] = all_fit or answer[at + 2] == FITS
    room[i] = answer[at]
  end
  return fits, room
end

local function reserve()
  local id, asked, ttl_us, keep_us, flags, plan = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
  local known, value = read_record()
  if known then
    return { now_us, 1, value }
  end
  local legs = read_legs(8, { 'mode', 'descriptor', 'share_max' })
  local held = read_held(#legs)
  local names, share_max, capacity = {}, {}, {}
  for i = 1, #legs do
    names[i], share_max[i], capacity[i] = legs[i].held_key, legs[i].share_max, legs[i].limit.capacity
  end
  local granted = grantable(asked, names, share_max, held)
  local is_refused = asked > 0 and granted == 0
  local group = group_of(legs, is_refused and 1 or granted, flags)
  group.dry = is_refused
  if not is_readable(legs) then
    return { now_us, UNREADABLE }
  end
  if is_outside_windows(group, now_us) then
    return { now_us, OUTSIDE }
  end
  local answer = {}
  if not pcall(decide_group, group, 1, now_us, answer, 1) then
    return { now_us, UNDECIDABLE }
  end
  local is_denied = is_refused or answer[1] == DENIED
  local reply = { now_us, is_denied and 2 or 3, call_redis('ZCOUNT', index_key, '-inf', format('%.0f', now_us)), granted }
  for i = 1, #answer do
    reply[#reply + 1] = answer[i]
  end
  local refused = write_buckets()
  if refused or is_denied then
    return refused or reply
  end
  local fits, room = read_answer(answer, #legs)
  local charged, used_before = charged_legs(granted, names, capacity, fits, room)
  for i = 1, #legs do
    held[names[i]] = held[names[i]] + charged[i]
  end
  local record = {
    state = HELD, flags = 0, asked = asked, granted = granted, made_us = now_us, expires_us = now_us + ttl_us, keep_us = keep_us,
    actual = 0, cut = 0, charged = charged, used_before = used_before, plan = plan,
  }
  write_held(held)
  call_redis('ZADD', index_key, format('%.0f', record.expires_us), id)
  reply[#reply + 1] = write_record(record)
  return reply
end

local function settle()
  local id, target, actual, keep_us, plan = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6]
  local record, value = read_record()
  if not record and target == LAPSED then
    call_redis('ZREM', index_key, id)
    return { now_us, 0 }
  end
  if record and record.plan ~= plan then
    return { now_us, 3, value }
  end
  if record and is_settled(record, target, now_us) then
    return { now_us, 1, value }
  end
  local legs = read_legs(7, { 'overdraft_max', 'keeps', 'unused' })
  if not record then
    record = {
      state = LAPSED, flags = UNKNOWN, asked = 0, granted = 0, made_us = now_us, expires_us = now_us, keep_us = keep_us,
      actual = 0, cut = 0, charged = {}, used_before = {}, plan = plan,
    }
    for i = 1, #legs do
      record.charged[i], record.used_before[i] = 0, 0
    end
  end
  local held = record.state == HELD and read_held(#legs) or {}
  for i = 1, #legs do
    local leg = legs[i]
    leg.keeps = leg.keeps == 1
    if held[leg.held_key] then
      held[leg.held_key] = held[leg.held_key] - record.charged[i]
    end
  end
  settle_record(record, legs, target, actual, now_us)
  local refused = write_buckets()
  if refused then
    return refused
  end
  write_held(held)
  call_redis('ZREM', index_key, id)
  return { now_us, 2, write_record(record) }
end

local function extend()
  local record, value = read_record()
  if not record then
    return { now_us, 0 }
  end
  if record.state ~= HELD then
    return { now_us, 1, value }
  end
  record.expires_us = extended_until_us(record, tonumber(ARGV[3]), now_us)
  call_redis('ZADD', index_key, format('%.0f', record.expires_us), ARGV[2])
  return { now_us, 2, write_record(record) }
end

local function due()
  local reply = { now_us, call_redis('ZCARD', record_key) }
  local ids = call_redis('ZRANGEBYSCORE', record_key, '-inf', format('%.0f', now_us), 'LIMIT', '0', ARGV[2])
  for i = 1, #ids do
    reply[#reply + 1] = ids[i]
  end
  return reply
end

local function read()
  local _, value = read_record()
  return { now_us, value }
end

local STEPS = { read = read, reserve = reserve, settle = settle, extend = extend, due = due }

return STEPS[ARGV[1]]()
