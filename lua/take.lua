--[[
Takes groups of hits from buckets: each group all or nothing, on one reading of Redis's clock.

KEYS[i]   the buckets, each once
ARGV      for each group:   flags (1: shadow, 2: a quota descriptor always fits, 3: both), number of takes
          for each take:    bucket (index into KEYS), algorithm (1 token bucket, 2 fixed window, 3 leaky bucket,
                            4 sliding window log, 5 sliding window counter),
                            mode (0 enforced, 1 quota, 2 shadow), descriptor, hits (0 peek, negative refund),
                            window_us, requests, capacity,
                            number of edges (0, or of a calendar window at least 2), and the edges in us, ascending
          Whole numbers all, in decimal.

Reply     now_us, then for each group: 1 denied | 0 allowed | -1 a bucket of it could not be read |
          -2 now_us lies outside the edges of a take; if decided, for each take: 1 fits | 0 does not, remaining, retry after (us; -1 never), reset after (us)

Nothing is written before every group has been decided, and each bucket is read once and written at most once, so a run
that fails has changed nothing. No key but those in KEYS is touched.
]]
--- @include "arithmetic"
--- @include "token-bucket"
--- @include "leaky-bucket"
--- @include "fixed-window"
--- @include "sliding-window-log"
--- @include "sliding-window-counter"
--- @include "decide-group"
--- @include "server-time"

local ENGINES = { token_bucket, fixed_window, leaky_bucket, sliding_window_log, sliding_window_counter }
local EXPIRY_MARGIN_US = 2000000

local function read_bucket(key, engine)
  local value = redis.pcall('GET', key)
  if not value then
    return { key = key, engine = engine }
  end
  local state = type(value) == 'string' and engine.unpack(value)
  return { key = key, engine = engine, exists = true, state = state or nil, is_unreadable = not state }
end

local function write_bucket(bucket)
  if bucket.engine.is_unused(bucket.state) then
    if bucket.exists then
      redis.call('DEL', bucket.key)
    end
  elseif bucket.expires_after_us then
    local ttl_ms = math.ceil((bucket.expires_after_us + EXPIRY_MARGIN_US) / 1000)
    redis.call('SET', bucket.key, bucket.engine.pack(bucket.state), 'PX', string.format('%.0f', ttl_ms))
  else
    redis.call('SET', bucket.key, bucket.engine.pack(bucket.state), 'KEEPTTL')
  end
end

local buckets = {}

local function read_edges(at)
  local count = tonumber(ARGV[at])
  if count == 0 then
    return nil
  end
  local edges_us = {}
  for i = 1, count do
    edges_us[i] = tonumber(ARGV[at + i])
  end
  return edges_us
end

local function read_take(at)
  local index = tonumber(ARGV[at])
  if not buckets[index] then
    buckets[index] = read_bucket(KEYS[index], ENGINES[tonumber(ARGV[at + 1])])
  end
  return {
    bucket = buckets[index],
    mode = tonumber(ARGV[at + 2]),
    descriptor = tonumber(ARGV[at + 3]),
    hits = tonumber(ARGV[at + 4]),
    limit = {
      window_us = tonumber(ARGV[at + 5]),
      requests = tonumber(ARGV[at + 6]),
      capacity = tonumber(ARGV[at + 7]),
      edges_us = read_edges(at + 8),
    },
  }
end

local now_us = server_time_us()
local reply = { now_us }
local at = 1
while at <= #ARGV do
  local flags, take_count = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local group = { shadow = flags == 1 or flags == 3, quota_always_fits = flags >= 2, takes = {} }
  local is_unreadable = false
  at = at + 2
  for i = 1, take_count do
    group.takes[i] = read_take(at)
    is_unreadable = is_unreadable or group.takes[i].bucket.is_unreadable
    at = at + 9 + tonumber(ARGV[at + 8])
  end
  if is_unreadable then
    reply[#reply + 1] = -1
  elseif is_outside_windows(group, now_us) then
    reply[#reply + 1] = -2
  else
    decide_group(group, now_us, reply)
  end
end

for i = 1, #KEYS do
  if buckets[i] and buckets[i].is_dirty then
    write_bucket(buckets[i])
  end
end
return reply
