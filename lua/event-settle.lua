--[[
Says how the deliveries of claimed events ended: delivered, to be tried again, or given up. What was delivered or given up leaves the outbox,
and the latest of both stay in a list.

KEYS[1..4]  as in event-add.lua
KEYS[5]     the latest: a hash; "d" or "u" and a place to "ended tries appended id text" of a delivered or undelivered event
ARGV[1]     places of each list
ARGV[2..]   for each event: its number, "d" delivered, "u" undelivered or "r" again; for how many milliseconds it waits

Reply     for each event: 1, or 0 if it was not in the outbox any more
]]
--- @include "server-time"

local STATE, DUE, AGES, TEXTS, LATEST, PER_EVENT = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], 3
local now = math.floor(server_time_us() / 1000)
local places = tonumber(ARGV[1])

local function digits(number)
  return string.format('%.0f', number)
end

local results = {}
for at = 2, #ARGV, PER_EVENT do
  local number, ending, wait = string.format('%016.0f', tonumber(ARGV[at])), ARGV[at + 1], ARGV[at + 2]
  local whole = redis.call('HGET', TEXTS, number)
  results[#results + 1] = whole and 1 or 0
  if whole and ending == 'r' then
    redis.call('ZADD', DUE, digits(now + tonumber(wait)), number)
  elseif whole then
    local text = string.match(whole, '^%d+ %d+ [^ ]+ (.*)$') or ''
    local state = redis.call('HMGET', STATE, 'bytes', ending)
    local count = tonumber(state[2] or '0') + 1
    redis.call('HDEL', TEXTS, number)
    redis.call('ZREM', DUE, number)
    redis.call('ZREM', AGES, number)
    redis.call('HSET', LATEST, ending .. digits(count % places), digits(now) .. ' ' .. whole)
    redis.call('HSET', STATE, ending, digits(count), 'bytes', digits(math.max(0, tonumber(state[1] or '0') - #text)))
  end
end
return results
