--[[
A token bucket whose clock may be the caller's, as such scripts are often written: tokens left and when, both written
on every call. For bench/atomicity/caller-clocks.ts alone; Weir's own script takes no clock from a caller.

KEYS[1]   the bucket
ARGV      capacity, hits per second, now in microseconds ('redis': Redis's TIME),
          what is done when now lies before the time stored:
            'nothing'   the time between counts, below zero
            'elapsed'   the time between counts as zero: max(0, now - stored)
            'latest'    now is the time stored: max(now, stored)
Reply     1 allowed | 0 denied
]]
local capacity, per_second, guard = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[4]
local now_us = tonumber(ARGV[3])
if ARGV[3] == 'redis' then
  local time = redis.call('TIME')
  now_us = time[1] * 1000000 + time[2]
end

local tokens, at_us = capacity, now_us
local stored = redis.call('GET', KEYS[1])
if stored then
  local stored_tokens, stored_at_us = string.match(stored, '^(%S+) (%S+)$')
  tokens, at_us = tonumber(stored_tokens), tonumber(stored_at_us)
end

if guard == 'latest' then
  now_us = math.max(now_us, at_us)
end
local elapsed_us = now_us - at_us
if guard == 'elapsed' then
  elapsed_us = math.max(0, elapsed_us)
end
tokens = math.min(capacity, tokens + elapsed_us * per_second / 1000000)

local is_allowed = tokens >= 1
if is_allowed then
  tokens = tokens - 1
end
redis.call('SET', KEYS[1], string.format('%.17g %.0f', tokens, now_us), 'PX', '60000')
return is_allowed and 1 or 0
