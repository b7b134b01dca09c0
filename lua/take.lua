--[[
Takes groups of hits from buckets: each group all or nothing, on one reading of Redis's clock.

KEYS      the buckets of the groups in their order, one for each take; a bucket may come more than once
ARGV      number of shapes: what groups have in common but for their buckets; 0: all groups are plain (below); -1: there is one group,
          it is plain and comes once
          for each shape:   flags (a sum of 1: shadow, 2: a quota descriptor always fits, 4: dry, nothing is taken),
                            number of takes
          for each take:    algorithm (1 token bucket, 2 fixed window, 3 leaky bucket, 4 sliding window log, 5 sliding
                            window counter, 6 requests in flight), mode (0 enforced, 1 quota, 2 shadow; 3 more: a usage report,
                            6 more: a peek, which fits always, 12 more: it names a slot by an id), descriptor,
                            hits (0 a check, which fits while one hit is left; negative refund),
                            window_us, requests, capacity,
                            number of edges (0, or of a calendar window at least 2), and the edges in us, ascending,
                            of a usage report overdraft_max: how far below zero it may take the bucket
          and then for each run of groups of one shape: shape (1 the first), number of groups,
                            times (2 or more: each of them is that many groups, decided one after the other. A fold: not
                            dry, without refunds, usage reports, logs and requests in flight, each bucket once),
                            and of each of its groups the ids of the takes that name a slot (16 hexadecimal digits each)
          Whole numbers all but the ids, in decimal.

          Of plain groups (enforced takes of hits alone, from token buckets, leaky buckets and fixed windows of a fixed length and at
          least 1 request, no bucket twice in a group, none of them dry or a shadow) the rest is runs of groups of one shape:
                            number of groups, or of a fold how many times it comes, negative; number of takes;
          for each take:    hits, window_us, capacity, and of a bucket requests; of a fixed window the hits are negative, and its requests
                            are its capacity.
                            In place of the number of takes and the takes: 0, and where in ARGV the number of takes of an earlier
                            run stands that has the same shape
          Of one plain group that comes once the rest is its takes.

Reply     now_us, then for each group:
          of one that is allowed (of a dry one: would be) and of which each take fits, nothing but two numbers for each take:
            remaining, reset after (us)
          of any other one: -4 denied | -5 allowed (or without takes), and then for each take three numbers:
            remaining (of a take that does not fit negative: so far is the bucket below zero), reset after (us), retry after
            (us; -1 never, -2 it fits); and of a usage report a fourth: hits that were not charged, as beyond its overdraft
          of a fold: how many times it is allowed, and for each take the state of its bucket at now_us before the first of its
            groups, as two numbers (used and rest; used and 0; current and previous)
          of one that is not decided, this alone: -1 a bucket of it could not be read | -2 now_us lies outside the edges of a
            take | -3 it can't be decided

Nothing is written before every group has been decided, and each bucket is read once and written at most once, so a run
that fails has changed nothing, unless its error begins with PARTLY (include/writing.lua); nor has a group that can't be decided.
No key but those in KEYS is touched.
]]
--- @include "numbers"
--- @include "writing"
--- @include "server-time"

local now_us = server_time_us()
local is_lone = ARGV[1] == '-1'
local all_are_plain = is_lone or ARGV[1] == '0'
-- A run makes each function when it comes to it: plain groups need none of those below. The first entries of each table are named, so that it
-- seldom grows.
if all_are_plain then
--- @include "plain-values"
--- @include "write-together"
  local key_count = #keys
  local reply, reply_at, at, first_place = { now_us, nil, nil, nil, nil, nil, nil, nil }, 2, 2, 1
  -- The values to be written, by key, so that a later group finds what an earlier one has left; of a lone group by place in KEYS.
  local charged = { nil, nil, nil, nil }
  -- By place in KEYS: after how long the bucket is full, if the group at that place has charged it. And whether two groups have charged one bucket.
  local full_after_us, has_repeats = { nil, nil, nil, nil }, false
  -- Computed for the previous take; most takes have the same window.
  local known_window, window_us, starts_at, ends_after_us
  -- `values` becomes nil if the general path has to decide.
  while values and first_place <= key_count do
--- @include "plain-run"
    for _ = 1, group_count do
      local last_place, fitting_to, take_at, replaced = first_place + take_count - 1, reply_at, takes_at, nil
--- @include "fitting-group"
--- @include "plain-group"
      first_place = last_place + 1
    end
  end
--- @include "write-charged"
end

--- @include "arithmetic"
--- @include "limit"
--- @load "token-bucket"
--- @load "leaky-bucket"
--- @load "fixed-window"
--- @load "sliding-window-log"
--- @load "sliding-window-counter"
--- @load "in-flight"
--- @include "decide-group"
--- @include "buckets"

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
    -- Of one group after the other: its bucket, and what decide-group.lua makes of it. Named here, so that the table never grows.
    bucket = nil,
    slot_id = nil,
    is_held = nil,
    new_slots = nil,
    of_bucket = nil,
    fits = nil,
    smallest_limit = nil,
    expiry_limit = nil,
    hits_of_all = nil,
    refund = nil,
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

-- Flags are a sum of 1, 2 and 4.
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

-- The takes of plain groups, whose arguments begin at `at`. A leaky bucket is decided as a token bucket: both have one engine.
local function read_plain_shape(take_count, at)
  local shape = { takes = {} }
  for i = 1, take_count do
    local hits, limit = tonumber(ARGV[at]), { window_us = tonumber(ARGV[at + 1]), requests = tonumber(ARGV[at + 2]), capacity = tonumber(ARGV[at + 2]) }
    at = at + 3
    if hits > 0 then
      limit.requests = tonumber(ARGV[at])
      at = at + 1
    end
    shape.takes[i] = take_of(hits > 0 and TOKEN_BUCKET or FIXED_WINDOW, 0, nil, hits > 0 and hits or -hits, limit, nil)
  end
  return shape, at
end

-- Gives the takes their buckets, from that key on; whether all of them can be read.
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

-- Gives the takes that name a slot their ids, which begin at `at`; says where they end.
local function name_slots(takes, at)
  for i = 1, #takes do
    if takes[i].names_slot then
      takes[i].slot_id = slot_id_at(at)
      at = at + 1
    end
  end
  return at
end

local reply = { now_us }

-- Puts into the reply, from `at` on, what is decided, or why nothing is; says where that ends.
local function answer_group(group, times, outside, first_key, at)
  if not name_buckets(group.takes, first_key) then
    reply[at] = -1
  elseif outside then
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

local shapes = {}
local at = 2
for i = 1, tonumber(ARGV[1]) do
  shapes[i], at = read_shape(at)
end

-- The shape of a run of groups, how many they are, how often each comes, and where the ids of slots or the next run begins.
local function read_run()
  return shapes[tonumber(ARGV[at])], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), at + 3
end

-- Of plain groups. Shapes are known by where they stand.
local function read_plain_run()
  if is_lone then
    local shape, next_at = read_plain_shape(#KEYS, 2)
    return shape, 1, 1, next_at
  end
  local count = tonumber(ARGV[at])
  if ARGV[at + 1] == '0' then
    return shapes[ARGV[at + 2]], max(1, count), max(1, -count), at + 3
  end
  local shape, next_at = read_plain_shape(tonumber(ARGV[at + 1]), at + 2)
  shapes[tostring(at + 1)] = shape
  return shape, max(1, count), max(1, -count), next_at
end

local key, reply_at = 1, 2
while at <= #ARGV do
  local group, group_count, times
  if all_are_plain then
    group, group_count, times, at = read_plain_run()
  else
    group, group_count, times, at = read_run()
  end
  local take_count, outside = #group.takes, is_outside_windows(group, now_us)
  for _ = 1, group_count do
    if group.has_slots then
      at = name_slots(group.takes, at)
    end
    reply_at = answer_group(group, times, outside, key, reply_at)
    key = key + take_count
  end
end

return write_buckets() or reply
