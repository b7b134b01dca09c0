--[[
The general path of take.lua: decides groups of every kind. The head of take.lua describes what is read here.
]]
--- @needs "numbers" "limit" "decide-group" "buckets"

local TOKEN_BUCKET, FIXED_WINDOW = 1, 2

-- A take of a shape. Its bucket is another one for each group.
local function take_of(algorithm, kind, descriptor, hits, limit, overdraft_max)
  return {
    engine = engine_of(algorithm),
    mode = kind % 3,
    is_peek = kind % 12 >= 6,
    names_slot = kind >= 12,
    overdraft_max = overdraft_max,
    descriptor = descriptor,
    hits = hits,
    limit = limit,
    -- One group after the other: its bucket, and the result of decide-group.lua. Named here, so that the table never grows.
    bucket = nil,
    slot_id = nil,
    is_held = nil,
    new_slots = nil,
    of_bucket = nil,
    fits = nil,
    smallest_limit = nil,
    expiry_limit = nil,
    hits_of_all = nil,
    charged = nil,
    cut = nil,
    state = nil,
    is_changed = nil,
    reset_after_us = nil,
  }
end

-- The take whose arguments begin at `at`, and where they end.
local function read_take(at)
  local limit, next_at = limit_at(at + 4)
  local kind = tonumber(ARGV[at + 1])
  local overdraft_max
  if kind % 6 >= 3 then
    overdraft_max = tonumber(ARGV[next_at])
    next_at = next_at + 1
  end
  return take_of(tonumber(ARGV[at]), kind, tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), limit, overdraft_max), next_at
end

-- The shape whose arguments begin at `at`, and where they end. Flags are a sum of 1, 2 and 4.
local function read_shape(at)
  local flags = tonumber(ARGV[at])
  local shape = { shadow = flags % 2 == 1, quota_always_fits = flags % 4 >= 2, dry = flags >= 4, has_reports = nil, has_slots = nil, takes = {} }
  local take_count = tonumber(ARGV[at + 1])
  at = at + 2
  for i = 1, take_count do
    shape.takes[i], at = read_take(at)
    shape.has_reports = shape.has_reports or shape.takes[i].overdraft_max ~= nil
    shape.has_slots = shape.has_slots or shape.takes[i].names_slot
  end
  return shape, at
end

-- Gives the takes their buckets, from that key on. Returns whether all of them can be read.
local function name_buckets(takes, first_key)
  local is_readable = true
  for i = 1, #takes do
    local take = takes[i]
    local bucket = bucket_of(KEYS[first_key + i - 1], take.engine, take.limit)
    take.bucket, bucket.first_take = bucket, nil
    is_readable = is_readable and bucket.state ~= false
  end
  return is_readable
end

-- Gives the takes that name a slot their ids, which begin at `at`. Returns where they end.
local function name_slots(takes, at)
  for i = 1, #takes do
    if takes[i].names_slot then
      takes[i].slot_id = slot_id_at(at)
      at = at + 1
    end
  end
  return at
end

-- Decides a group whose takes have their buckets. Puts into the reply, from `at` on, what is decided, or why nothing is. Returns where that ends.
local function answer_group(group, is_readable, times, now_us, reply, at)
  if not is_readable then
    reply[at] = -1
  elseif is_outside_windows(group, now_us) then
    reply[at] = -2
  else
    local is_decided, ends_at = pcall(decide_group, group, times, now_us, reply, at)
    if is_decided then
      return ends_at
    end
    for i = #reply, at, -1 do
      reply[i] = nil
    end
    reply[at] = -3
  end
  return at + 1
end

-- Decides the groups of a whole command, writes their buckets, and returns the reply.
local function take_general_groups(now_us)
  local shapes, at = {}, 3
  for i = 1, tonumber(ARGV[2]) do
    shapes[i], at = read_shape(at)
  end
  local reply, key, reply_at = { now_us }, 1, 2
  while at <= #ARGV do
    local group, group_count, times = shapes[tonumber(ARGV[at])], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
    at = at + 3
    for _ = 1, group_count do
      if group.has_slots then
        at = name_slots(group.takes, at)
      end
      reply_at = answer_group(group, name_buckets(group.takes, key), times, now_us, reply, reply_at)
      key = key + #group.takes
    end
  end
  return write_buckets() or reply
end

-- The plain take whose arguments begin at `at`, and where they end. A leaky bucket is decided as a token bucket: both have one engine.
local function read_plain_take(at)
  local hits, limit = ARGV[at] + 0, { window_us = ARGV[at + 1] + 0, requests = ARGV[at + 2] + 0, capacity = ARGV[at + 2] + 0 }
  if hits < 0 then
    return take_of(FIXED_WINDOW, 0, nil, -hits, limit, nil), at + 3
  end
  limit.requests = ARGV[at + 3] + 0
  return take_of(TOKEN_BUCKET, 0, nil, hits, limit, nil), at + 4
end

-- The last place before this one at which the bucket of that key is charged; nil if there is none.
local function charged_before(place, full_after_us)
  local key = KEYS[place]
  for earlier = place - 1, 1, -1 do
    if KEYS[earlier] == key and full_after_us[earlier] then
      return earlier
    end
  end
  return nil
end

-- Decides a group of the plain form, { first_place, takes_at, takes_end, times }, again from the start. Buckets are as in take.lua: { values, new_values, full_after_us,
-- latest }; what is there already for this group is undone. Puts the answer into the reply, from `at` on. Returns where that ends, and the place after the
-- group.
local function take_plain_group(group, buckets_by_place, now_us, reply, at)
  local takes, take_at, place, is_readable = {}, group.takes_at, group.first_place, true
  while take_at <= group.takes_end do
    local take
    take, take_at = read_plain_take(take_at)
    local earlier, key = charged_before(place, buckets_by_place.full_after_us), KEYS[place]
    local value = earlier and buckets_by_place.new_values[earlier] or buckets_by_place.values[place]
    take.bucket = new_bucket(key, take.engine, take.limit, type(value) == 'number' and format('%d', value) or value)
    is_readable = is_readable and take.bucket.state ~= false
    takes[#takes + 1], buckets_by_place.full_after_us[place], buckets_by_place.latest[key] = take, nil, earlier
    place = place + 1
  end
  for i = #reply, at, -1 do
    reply[i] = nil
  end
  at = answer_group({ takes = takes }, is_readable, group.times, now_us, reply, at)
  for i = 1, #takes do
    local bucket, place_of_take = takes[i].bucket, group.first_place + i - 1
    if bucket.is_dirty then
      buckets_by_place.new_values[place_of_take] = bucket.engine.pack(bucket.state, bucket.limit)
      buckets_by_place.full_after_us[place_of_take] = bucket.expires_after_us
      buckets_by_place.latest[bucket.key] = place_of_take
    end
  end
  return at, place
end
