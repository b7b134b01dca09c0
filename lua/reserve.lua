--[[
The steps of reservations: hits charged under an id for a time, then committed, released or lapsed. Each step on one reading of
Redis's clock, and each once, however often it is sent: a record under the id keeps what became of it.

KEYS[1]   the lapse index: the ids of reservations that are held, by the time at which they lapse
KEYS[2]   the holds: a hash with the records of reservations that are held, and the hits held of each bucket
KEYS[3]   the record of the reservation once it is settled; of "lapse" one for each id
KEYS[4…]  of "reserve" and "settle" the bucket of each leg; of "lapse" buckets follow the records

ARGV[1]   the step, and then
          "read":    id
          "reserve": id, asked (hits for each leg; 0 a check), ttl_us, keep_us (how long the record is kept after the last step), flags (a sum of 1:
                     shadow, 2: a quota descriptor always fits), plan (a text that is kept), and for each leg: algorithm, mode (0 enforced,
                     1 quota, 2 shadow), descriptor, share_max (most hits of its bucket that may be held; -1: any), limit
          "settle":  id, target (2 committed, 3 released, 4 lapsed), actual (hits used, of a commit), keep_us, is_last (1: hits that no edge of a limit
                     covers are cut), plan (of the record that was read; an empty text without one), and for each leg: algorithm,
                     overdraft_max, keeps (1: lapsed hits stay charged), 0, limit
          "extend":  id, ttl_us
          "lapse":   most ids to reply, most bytes of their records, number of ids, number of plans, for each plan: number of legs, and for
                     each leg: the place of its bucket in KEYS, algorithm, keeps, limit; then for each id: id, plan (0: its record is not
                     one, and goes), made_us
          A limit is as in take.lua (include/limit.lua). Whole numbers all, in decimal, but for id and plan.

Reply     now_us, and then (numbers as in take.lua)
          "read":    the record, or nil
          "reserve": 1, the record that was there | -1 a bucket can't be read | -2 now_us lies outside the edges of a limit |
                     -3 it can't be decided | 2 denied, 3 allowed: ids that are due, granted (0 of a denied one: the shares leave
                     no room), what take.lua answers on the group (of shares without room: on one hit, dry), of an allowed one the record
          "settle":  1, the record, as it was | 2, the record, changed | 3, the record: it has another plan, nothing is done |
                     4 there is no record of that plan any more, nothing is done | 5 now_us lies outside the edges of a limit, nothing is done
          "extend":  0 there is no record | 1, the record, as it was | 2, the record, changed
          "lapse":   ids still in the index, the time at which the first of them lapses (0: none), for each id asked for 1 if it lapsed now or 0, in
                     one text, and of the ids that are due some, the first first: id, record (an empty text: it has none, and is gone)

Buckets are read first and written last (include/buckets.lua), then the records; then the holds and the index. So Redis refuses the first
write if it has no memory, unless that is the DEL of a bucket: what follows then takes no more than what goes. No key but those in KEYS is touched. The index and the holds belong together: without
the one, the other says nothing.
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
--- @load "budget"
--- @include "decide-group"
--- @include "adjust-bucket"
--- @include "reservation"
--- @include "server-time"
--- @include "writing"
--- @include "buckets"

local UNREADABLE, OUTSIDE, UNDECIDABLE = -1, -2, -3
local FIRST_BUCKET_KEY = 4
-- Fields of the holds begin with one of these: the record of an id, the hits held of a bucket.
local RECORD_FIELD, HITS_FIELD = 'r', 'h'
-- No reservation is held longer than half of this, so neither the index nor the holds end before what is in them.
local HOLDS_MS = format('%.0f', 2 * LIFE_MAX_US / 1000)
local index_key, holds_key, record_key = KEYS[1], KEYS[2], KEYS[3]
local now_us = server_time_us()

local function read_record(id)
  local value = call_redis('HGET', holds_key, RECORD_FIELD .. id) or call_redis('GET', record_key)
  return value and unpack_record(value), value
end

-- The record of a reservation that is held no more.
local function write_settled(key, record)
  local value = pack_record(record)
  call_redis('SET', key, value, 'PX', ttl_ms(record.keep_us + max(0, record.expires_us - now_us)))
  return value
end

-- The record of one that is held, among the others.
local function write_held_record(id, record)
  local value = pack_record(record)
  call_redis('HSET', holds_key, RECORD_FIELD .. id, value)
  call_redis('ZADD', index_key, format('%.0f', record.expires_us), id)
  call_redis('PEXPIRE', holds_key, HOLDS_MS)
  call_redis('PEXPIRE', index_key, HOLDS_MS)
  return value
end

-- Adds the hits that are held of a bucket, by its key, unless they are there.
local function read_held(held, key)
  held[key] = held[key] or to_number(call_redis('HGET', holds_key, HITS_FIELD .. key) or 0)
end

local function write_held(held)
  for key, hits in pairs(held) do
    if hits > 0 then
      call_redis('HSET', holds_key, HITS_FIELD .. key, format('%.0f', hits))
    else
      call_redis('HDEL', holds_key, HITS_FIELD .. key)
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
    local leg = { engine = engine, limit = limit, bucket = bucket_of(KEYS[FIRST_BUCKET_KEY + i - 1], engine, limit) }
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

-- Reads the answer of take.lua on the group: whether each leg fits, and what remains. All of them fit if it begins with a remaining.
local function read_answer(answer, leg_count)
  local fits, room = {}, {}
  local all_fit = answer[1] + 0 >= 0
  for i = 1, leg_count do
    local at = all_fit and 2 * i - 1 or 3 * i - 1
    fits[i] = all_fit or answer[at + 2] == FITS
    room[i] = answer[at] + 0
  end
  return fits, room
end

local function reserve()
  local id, asked, ttl_us, keep_us, flags, plan = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
  local known, value = read_record(id)
  if known then
    return { now_us, 1, value }
  end
  local legs = read_legs(8, { 'mode', 'descriptor', 'share_max' })
  local held, is_empty = {}, call_redis('ZCARD', index_key) == 0
  local names, share_max, capacity = {}, {}, {}
  for i = 1, #legs do
    names[i], share_max[i], capacity[i] = legs[i].bucket.key, legs[i].share_max, legs[i].limit.capacity
    if is_empty then
      held[names[i]] = 0
    else
      read_held(held, names[i])
    end
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
  local reply = { now_us, is_denied and 2 or 3, call_redis('ZCOUNT', index_key, '-inf', format('%.0f', now_us)), in_reply(granted) }
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
  if is_empty and call_redis('EXISTS', holds_key) == 1 then
    -- Without an index nothing in the holds would ever lapse.
    call_redis('DEL', holds_key)
  end
  reply[#reply + 1] = write_held_record(id, record)
  write_held(held)
  return reply
end

-- Whether a leg is to be charged more, in a window that its edges do not cover.
local function is_outside_charge(record, legs, target, actual)
  for i = 1, #legs do
    if wanted(record, legs, i, target, actual) > record.charged[i] and is_outside(legs[i].limit, now_us) then
      return true
    end
  end
  return false
end

-- Takes the hits that a reservation held off those held.
local function drop_held(held, record, legs)
  for i = 1, #legs do
    local key = legs[i].bucket.key
    read_held(held, key)
    held[key] = max(0, held[key] - record.charged[i])
  end
end

local function settle()
  local id, target, actual, keep_us, is_last, plan = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1', ARGV[7]
  local record, value = read_record(id)
  if record and is_settled(record, target, now_us) then
    return { now_us, 1, value }
  end
  if record and record.plan ~= plan then
    return { now_us, 3, value }
  end
  if not record and (plan ~= '' or target == LAPSED) then
    return { now_us, 4 }
  end
  local legs = read_legs(8, { 'overdraft_max', 'keeps', 'unused' })
  for i = 1, #legs do
    legs[i].keeps = legs[i].keeps == 1
  end
  record = record or unknown_record(#legs, keep_us, now_us)
  local was_held, held = record.state == HELD, {}
  if was_held then
    drop_held(held, record, legs)
  end
  if not is_last and is_outside_charge(record, legs, target, actual) then
    return { now_us, 5 }
  end
  settle_record(record, legs, target, actual, now_us)
  local refused = write_buckets()
  if refused then
    return refused
  end
  local settled = write_settled(record_key, record)
  if was_held then
    write_held(held)
    call_redis('HDEL', holds_key, RECORD_FIELD .. id)
    call_redis('ZREM', index_key, id)
  end
  return { now_us, 2, settled }
end

local function extend()
  local id = ARGV[2]
  local record, value = read_record(id)
  if not record then
    return { now_us, 0 }
  end
  if record.state ~= HELD then
    return { now_us, 1, value }
  end
  record.expires_us = extended_until_us(record, tonumber(ARGV[3]), now_us)
  return { now_us, 2, write_held_record(id, record) }
end

-- Legs of the plans whose arguments begin at `at`, by the places of the plans, and where they end.
local function read_plans(at, plan_count)
  local plans = {}
  for i = 1, plan_count do
    local legs, leg_count = {}, tonumber(ARGV[at])
    at = at + 1
    for n = 1, leg_count do
      local limit, next_at = limit_at(at + 3)
      local engine = engine_of(tonumber(ARGV[at + 1]))
      legs[n] = { bucket = bucket_of(KEYS[tonumber(ARGV[at])], engine, limit), keeps = ARGV[at + 2] == '1', limit = limit, overdraft_max = 0 }
      at = next_at
    end
    plans[i] = legs
  end
  return plans, at
end

-- The values of the holds by these names, in their order; false: there is none.
local function read_fields(prefix, names)
  if #names == 0 then
    return {}
  end
  local fields = {}
  for i = 1, #names do
    fields[i] = prefix .. names[i]
  end
  return call_redis('HMGET', holds_key, unpack(fields))
end

-- Appends ids that are due and their records to the reply: at most `ids_max` of them, of at most `bytes_max` bytes, but at least one.
local function add_due(reply, ids_max, bytes_max)
  local ids = call_redis('ZRANGEBYSCORE', index_key, '-inf', format('%.0f', now_us), 'LIMIT', '0', format('%d', ids_max))
  local values, bytes = read_fields(RECORD_FIELD, ids), 0
  for i = 1, #ids do
    local value = values[i] or ''
    bytes = bytes + #value
    if bytes > bytes_max and i > 1 then
      return
    end
    if value == '' then
      call_redis('HDEL', holds_key, RECORD_FIELD .. ids[i])
      call_redis('ZREM', index_key, ids[i])
    end
    reply[#reply + 1] = ids[i]
    reply[#reply + 1] = value
  end
end

-- The record if it is due, the one that the caller read, and one at all; and whether the id goes.
local function due_record(value, id, plan, made_us)
  if plan == 0 then
    local score = call_redis('ZSCORE', index_key, id)
    return nil, score and to_number(score) <= now_us
  end
  local record = value and unpack_record(value)
  if record and record.made_us == made_us and not is_settled(record, LAPSED, now_us) then
    return record, true
  end
  return nil, false
end

-- The hits that are held of each bucket of these plans, by their keys.
local function read_held_of(plans)
  local held, keys = {}, {}
  for i = 1, #plans do
    for n = 1, #plans[i] do
      local key = plans[i][n].bucket.key
      if not held[key] then
        held[key] = 0
        keys[#keys + 1] = key
      end
    end
  end
  local values = read_fields(HITS_FIELD, keys)
  for i = 1, #keys do
    held[keys[i]] = to_number(values[i] or 0)
  end
  return held
end

-- The ids whose arguments begin at `at`: each its id, plan and made_us.
local function read_ids(at, id_count)
  local ids, asked = {}, {}
  for i = 1, id_count do
    ids[i] = ARGV[at]
    asked[i] = { plan = tonumber(ARGV[at + 1]), made_us = tonumber(ARGV[at + 2]) }
    at = at + 3
  end
  return ids, asked
end

-- Writes the records of those that have lapsed, and takes the ids out of the holds and the index.
local function write_lapsed(lapsed, held, gone)
  for key, record in pairs(lapsed) do
    write_settled(key, record)
  end
  local fields = {}
  for key, hits in pairs(held) do
    if hits > 0 then
      call_redis('HSET', holds_key, HITS_FIELD .. key, format('%.0f', hits))
    else
      fields[#fields + 1] = HITS_FIELD .. key
    end
  end
  for i = 1, #gone do
    fields[#fields + 1] = RECORD_FIELD .. gone[i]
  end
  if #fields > 0 then
    call_redis('HDEL', holds_key, unpack(fields))
  end
  if #gone > 0 then
    call_redis('ZREM', index_key, unpack(gone))
  end
end

local function lapse()
  local ids_max, bytes_max, id_count = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  local plans, at = read_plans(6, tonumber(ARGV[5]))
  local ids, asked = read_ids(at, id_count)
  local values, held = read_fields(RECORD_FIELD, ids), read_held_of(plans)
  local lapsed, gone, flags = {}, {}, {}
  for i = 1, id_count do
    local record, goes = due_record(values[i], ids[i], asked[i].plan, asked[i].made_us)
    if record then
      local legs = plans[asked[i].plan]
      drop_held(held, record, legs)
      settle_record(record, legs, LAPSED, 0, now_us)
      lapsed[KEYS[2 + i]] = record
    end
    if goes then
      gone[#gone + 1] = ids[i]
    end
    flags[i] = record and '1' or '0'
  end
  local refused = write_buckets()
  if refused then
    return refused
  end
  if #gone > 0 then
    write_lapsed(lapsed, held, gone)
  end
  local reply = { now_us, 0, 0, table.concat(flags) }
  if ids_max > 0 then
    add_due(reply, ids_max, bytes_max)
  end
  local first = call_redis('ZRANGEBYSCORE', index_key, '-inf', '+inf', 'WITHSCORES', 'LIMIT', '0', '1')
  reply[2], reply[3] = call_redis('ZCARD', index_key), first[2] and to_number(first[2]) or 0
  return reply
end

local function read()
  local _, value = read_record(ARGV[2])
  return { now_us, value }
end

local STEPS = { read = read, reserve = reserve, settle = settle, extend = extend, lapse = lapse }

return STEPS[ARGV[1]]()
