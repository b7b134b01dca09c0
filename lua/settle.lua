--[[
Puts buckets right without deciding anything, on one reading of Redis's clock: charges hits that have passed elsewhere,
and gives back hits of earlier takes.

KEYS[i]   the bucket of settlement i; a bucket may come more than once
ARGV      for each settlement: algorithm (1 token bucket, 2 fixed window, 3 leaky bucket, 4 sliding window log, 5 sliding
                               window counter),
                               hits (positive: charged, as many as there is room for; negative: given back),
                               taken_at_us, used_before (of hits given back: now_us of their take, and the hits used
                               before it; else 0),
                               overdraft_max (of hits charged: how far below zero they may take the bucket),
                               window_us, requests, capacity,
                               number of edges (0, or of a calendar window at least 2), and the edges in us, ascending
          Whole numbers all, in decimal.

Reply     for each settlement: hits applied, at least 0; -1 if its bucket could not be read, or now_us lies outside its edges

Settlements of one bucket are applied in their order. Each bucket is read once and written at most once, and a run that fails has
changed nothing, unless its error begins with PARTLY (include/buckets.lua). No key but those in KEYS is touched.
]]
--- @include "arithmetic"
--- @include "limit"
--- @load "token-bucket"
--- @load "leaky-bucket"
--- @load "fixed-window"
--- @load "sliding-window-log"
--- @load "sliding-window-counter"
--- @include "settle-bucket"
--- @include "server-time"
--- @include "buckets"

-- The settlement on this key whose arguments begin at `at`, and where they end.
local function read_settlement(key, at)
  local limit, next_at = limit_at(at + 5)
  local settlement = {
    bucket = bucket_of(key, engine_of(tonumber(ARGV[at]))),
    hits = tonumber(ARGV[at + 1]),
    taken_at_us = tonumber(ARGV[at + 2]),
    used_before = tonumber(ARGV[at + 3]),
    overdraft_max = tonumber(ARGV[at + 4]),
    limit = limit,
  }
  return settlement, next_at
end

local now_us = server_time_us()
local reply = {}
local at = 1
for i, key in ipairs(KEYS) do
  local settlement
  settlement, at = read_settlement(key, at)
  if settlement.bucket.is_unreadable then
    reply[i] = -1
  else
    reply[i] = settle_bucket(settlement, now_us)
  end
end

return write_buckets() or reply
