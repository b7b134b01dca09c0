--[[
Puts buckets right without deciding anything, on one reading of Redis's clock: charges hits that have passed elsewhere,
and gives back hits of earlier takes.

KEYS[i]   the buckets, each once
ARGV      for each settlement: bucket (index into KEYS), algorithm (1 token bucket, 2 fixed window, 3 leaky bucket,
                               4 sliding window log, 5 sliding window counter),
                               hits (positive: charged, as many as there is room for; negative: given back),
                               taken_at_us, used_before (of hits given back: now_us of their take, and the hits used
                               before it; else 0),
                               window_us, requests, capacity,
                               number of edges (0, or of a calendar window at least 2), and the edges in us, ascending
          Whole numbers all, in decimal.

Reply     for each settlement: hits applied, at least 0; 0 if its bucket could not be read

Settlements of one bucket are applied in their order. Each bucket is read once and written at most once. No key but those
in KEYS is touched.
]]
--- @include "arithmetic"
--- @include "token-bucket"
--- @include "leaky-bucket"
--- @include "fixed-window"
--- @include "sliding-window-log"
--- @include "sliding-window-counter"
--- @include "settle-bucket"
--- @include "server-time"
--- @include "buckets"

local function read_settlement(at)
  return {
    bucket = bucket_at(at),
    hits = tonumber(ARGV[at + 2]),
    taken_at_us = tonumber(ARGV[at + 3]),
    used_before = tonumber(ARGV[at + 4]),
    limit = limit_at(at + 5),
  }
end

local now_us = server_time_us()
local reply = {}
local at = 1
while at <= #ARGV do
  local settlement = read_settlement(at)
  if settlement.bucket.is_unreadable then
    reply[#reply + 1] = 0
  else
    reply[#reply + 1] = settle_bucket(settlement, now_us)
  end
  at = at + 9 + tonumber(ARGV[at + 8])
end

write_buckets()
return reply
