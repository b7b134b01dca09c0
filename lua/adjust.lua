--[[
Puts buckets right without deciding anything, on one reading of Redis's clock: charges hits that have passed elsewhere,
and gives back hits of earlier takes.

KEYS[i]   the bucket of adjustment i; a bucket may come more than once
ARGV      for each adjustment: algorithm (1 token bucket, 2 fixed window, 3 leaky bucket, 4 sliding window log, 5 sliding
                               window counter, 6 requests in flight, 7 budget),
                               hits (positive: charged, as many as there is room for; negative: given back),
                               taken_at_us, used_before (of hits given back: now_us of their take, and the hits used
                               before it; else 0),
                               overdraft_max (of hits charged: how far below zero they may take the bucket),
                               window_us, requests, capacity,
                               number of edges (0, or of a calendar window at least 2), and the edges in us, ascending,
                               of requests in flight: the id of the slot that is given back (16 hexadecimal digits), or an
                               empty text: slots without an id
          Whole numbers all but the ids, in decimal.

Reply     for each adjustment: hits applied, at least 0 (beyond 9007199254740944 as a text); -1 if its bucket could not be read, or now_us lies outside its edges

Adjustments of one bucket are applied in their order. Each bucket is read once and written at most once, and a run that fails has
changed nothing, unless its error begins with PARTLY (include/writing.lua). No key but those in KEYS is touched.
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
--- @include "adjust-bucket"
--- @include "server-time"
--- @include "writing"
--- @include "buckets"

local IN_FLIGHT = 6

-- The adjustment on this key whose arguments begin at `at`, and where they end.
local function read_adjustment(key, at)
  local limit, next_at = limit_at(at + 5)
  local code, slot_id = tonumber(ARGV[at]), nil
  if code == IN_FLIGHT then
    slot_id = ARGV[next_at] ~= '' and slot_id_at(next_at) or nil
    next_at = next_at + 1
  end
  local adjustment = {
    bucket = bucket_of(key, engine_of(code), limit),
    hits = tonumber(ARGV[at + 1]),
    taken_at_us = tonumber(ARGV[at + 2]),
    used_before = tonumber(ARGV[at + 3]),
    overdraft_max = tonumber(ARGV[at + 4]),
    slot_id = slot_id,
    limit = limit,
  }
  return adjustment, next_at
end

local now_us = server_time_us()
local reply = {}
local at = 1
for i, key in ipairs(KEYS) do
  local adjustment
  adjustment, at = read_adjustment(key, at)
  if adjustment.bucket.state == false then
    reply[i] = -1
  else
    reply[i] = in_reply(adjust_bucket(adjustment, now_us))
  end
end

return write_buckets() or reply
