--[[
Claims events that are due: no other process gets them before the claim ends, by Redis's clock. A process that dies passes its claims on.

KEYS[1..4]  as in event-add.lua
ARGV[1]     most events to claim
ARGV[2]     for how many milliseconds

Reply     now in milliseconds, 1 if there was no outbox, number of events, when the oldest was appended or 0, number of events whose text
          is gone (they are dropped), then for each claimed event: its number, and "tries appended id text" with this try
]]
--- @include "server-time"

local STATE, DUE, AGES, TEXTS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = math.floor(server_time_us() / 1000)

local function digits(number)
  return string.format('%.0f', number)
end

local is_new = not redis.call('HGET', STATE, 'born')
if is_new then
  -- As in event-add.lua.
  redis.call('DEL', DUE, AGES, TEXTS)
  redis.call('HSET', STATE, 'born', digits(now), 'last', '0', 'bytes', '0')
end
local claimed, gone = {}, 0
for _, number in ipairs(redis.call('ZRANGEBYSCORE', DUE, '-inf', digits(now), 'LIMIT', 0, ARGV[1])) do
  local tries, rest = string.match(redis.call('HGET', TEXTS, number) or '', '^(%d+)( .+)$')
  if tries then
    local text = digits(tries + 1) .. rest
    redis.call('HSET', TEXTS, number, text)
    redis.call('ZADD', DUE, digits(now + tonumber(ARGV[2])), number)
    claimed[#claimed + 1] = number
    claimed[#claimed + 1] = text
  else
    gone = gone + 1
    redis.call('ZREM', DUE, number)
    redis.call('ZREM', AGES, number)
    redis.call('HDEL', TEXTS, number)
  end
end
local oldest = redis.call('ZRANGEBYSCORE', AGES, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { digits(now), is_new and 1 or 0, redis.call('ZCARD', DUE), oldest[2] or '0', gone, unpack(claimed) }
