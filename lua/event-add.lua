--[[
Sets marks and appends the event of each mark that was not set yet, on one reading of Redis's clock: an event and its mark come together or
not at all. So of all processes that saw one crossing, one appends its event.

KEYS[1]   about the outbox: a hash with `born`, `last` (number of the last event) and `bytes`
KEYS[2]   when each event is due, in milliseconds: a sorted set of numbers
KEYS[3]   when each event was appended, in milliseconds: a sorted set of numbers
KEYS[4]   the events: a hash from number to "tries appended id text"
KEYS[5..] the marks, one for each event: when it ends in milliseconds, or 0
ARGV[1]   most events in the outbox
ARGV[2]   most bytes of their texts together
ARGV[3..] for each mark: after which millisecond it is too late, or 0;
          for how many milliseconds the mark stays, 0: without end, or "": until it is too late;
          the id of the event, to which the time is added if the mark stays for a time; its text

Reply     now in milliseconds, 1 if there was no outbox, number of events, when the oldest was appended or 0,
          then for each mark: 1 added, 2 known, 3 too late, 4 the outbox is full; and when the mark ends or 0
]]
--- @include "server-time"

local STATE, DUE, AGES, TEXTS, FIRST_MARK, HEAD, PER_MARK = KEYS[1], KEYS[2], KEYS[3], KEYS[4], 5, 2, 4
local ADDED, KNOWN, LATE, FULL = 1, 2, 3, 4
local events_max, bytes_max = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = math.floor(server_time_us() / 1000)

local function digits(number)
  return string.format('%.0f', number)
end

local state = redis.call('HMGET', STATE, 'born', 'last', 'bytes')
local is_new = not state[1]
if is_new then
  -- The rest of an outbox whose state was evicted has numbers that come again.
  redis.call('DEL', DUE, AGES, TEXTS)
end
local last, bytes = tonumber(state[2] or '0'), tonumber(state[3] or '0')
local length = redis.call('ZCARD', DUE)
local results = {}

for i = FIRST_MARK, #KEYS do
  local at = HEAD + (i - FIRST_MARK) * PER_MARK
  local late_after, stays, id, text = tonumber(ARGV[at + 1]), ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]
  local ends = 0
  if stays == '' then
    ends = late_after
  elseif stays ~= '0' then
    ends = now + tonumber(stays)
  end
  local known = tonumber(redis.call('GET', KEYS[i]) or nil)
  local code
  if known and (known == 0 or known > now) then
    code, ends = KNOWN, known
  elseif late_after > 0 and now >= late_after then
    code = LATE
  elseif length >= events_max or bytes + #text > bytes_max then
    code = FULL
  else
    code = ADDED
    last, bytes, length = last + 1, bytes + #text, length + 1
    -- One width for all, so that events that are due at one time are in the order of their numbers.
    local number, now_text = string.format('%016.0f', last), digits(now)
    local full_id = stays ~= '' and stays ~= '0' and id .. '.' .. now_text or id
    redis.call('HSET', TEXTS, number, '0 ' .. now_text .. ' ' .. full_id .. ' ' .. text)
    redis.call('ZADD', DUE, now_text, number)
    redis.call('ZADD', AGES, now_text, number)
    -- The mark is last: if the user may not run a command before, the event is not lost with its mark set.
    if ends == 0 then
      redis.call('SET', KEYS[i], '0')
    else
      redis.call('SET', KEYS[i], digits(ends), 'PX', digits(ends - now))
    end
  end
  results[#results + 1] = code
  results[#results + 1] = digits(ends)
end

redis.call('HSET', STATE, 'born', state[1] or digits(now), 'last', digits(last), 'bytes', digits(bytes))
local oldest = redis.call('ZRANGEBYSCORE', AGES, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return { digits(now), is_new and 1 or 0, length, oldest[2] or '0', unpack(results) }
