--[[
Lists the events of the outbox that are due first, and the latest that were delivered or given up.

KEYS[1..5]  as in event-settle.lua
ARGV[1]     most events of each list, and the places of the latest

Reply     number of events, when the oldest was appended in milliseconds or 0, numbers of all delivered and undelivered ones,
          then three lists: "due tries appended id text" of waiting events, and "ended tries appended id text" of both others, the last one first
]]
local STATE, DUE, AGES, TEXTS, LATEST = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local places = tonumber(ARGV[1])

local function digits(number)
  return string.format('%.0f', number)
end

local waiting = {}
local due = redis.call('ZRANGEBYSCORE', DUE, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
for i = 1, #due, 2 do
  local text = redis.call('HGET', TEXTS, due[i])
  if text then
    waiting[#waiting + 1] = digits(tonumber(due[i + 1])) .. ' ' .. text
  end
end

local function latest(kind)
  local count = tonumber(redis.call('HGET', STATE, kind) or '0')
  local found = {}
  for number = count, math.max(1, count - places + 1), -1 do
    local text = redis.call('HGET', LATEST, kind .. digits(number % places))
    if text then
      found[#found + 1] = text
    end
  end
  return digits(count), found
end

local delivered, delivered_list = latest('d')
local undelivered, undelivered_list = latest('u')
local oldest = redis.call('ZRANGEBYSCORE', AGES, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { redis.call('ZCARD', DUE), oldest[2] or '0', delivered, undelivered, waiting, delivered_list, undelivered_list }
