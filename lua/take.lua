--[[
Takes groups of hits from buckets: each group all or nothing, on one reading of Redis's clock.

KEYS[i]   the buckets, each once
ARGV      for each group:   flags (a sum of 1: shadow, 2: a quota descriptor always fits, 4: dry, nothing is taken),
                            number of takes
          for each take:    bucket (index into KEYS), algorithm (1 token bucket, 2 fixed window, 3 leaky bucket,
                            4 sliding window log, 5 sliding window counter),
                            mode (0 enforced, 1 quota, 2 shadow), descriptor, hits (0 peek, negative refund),
                            window_us, requests, capacity,
                            number of edges (0, or of a calendar window at least 2), and the edges in us, ascending
          Whole numbers all, in decimal.

Reply     now_us, then for each group: 1 denied | 0 allowed (of a dry one: would be) | -1 a bucket of it could not be read |
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
--- @include "buckets"

local function read_take(at)
  return {
    bucket = bucket_at(at),
    mode = tonumber(ARGV[at + 2]),
    descriptor = tonumber(ARGV[at + 3]),
    hits = tonumber(ARGV[at + 4]),
    limit = limit_at(at + 5),
  }
end

-- Flags are a sum of 1, 2 and 4.
local function read_flags(flags)
  return { shadow = flags % 2 == 1, quota_always_fits = flags % 4 >= 2, dry = flags >= 4, takes = {} }
end

local now_us = server_time_us()
local reply = { now_us }
local at = 1
while at <= #ARGV do
  local group = read_flags(tonumber(ARGV[at]))
  local take_count = tonumber(ARGV[at + 1])
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

write_buckets()
return reply
