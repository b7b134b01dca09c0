--[[
Adds the hits of one process to those of a rollout, over all processes, on Redis's clock, and answers all of them. Without hits to add it only reads.

KEYS[1]   the counts: "stage width since", then "candidate over current over" in total, and the same for each slot of time after its
          number, each on a line
ARGV[1]   absent: only read; otherwise the stage: the version of the record that has its values. Another one begins the counts again
ARGV[2]   width of a slot in seconds
ARGV[3]   most slots that are kept
ARGV[4]   for how many milliseconds the counts are kept
ARGV[5..8]  hits to add: of the candidate's part, those of them over the limit, of the current part, those of them over the limit

Reply     now in microseconds, and the counts or ""

Hits of a stage before the one that is counted are dropped. One string read and written: a user of Redis's who may decide may do this.
]]
--- @include "server-time"

local now_us = server_time_us()
local now = string.format('%.0f', now_us)
local text = redis.call('GET', KEYS[1]) or ''
if not ARGV[1] then
  return { now, text }
end

local FIELDS = '^(%d+) (%d+) (%d+) (%d+)$'
local stage, width, slots_max = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local function sum(line)
  local values = { string.match(line or '', FIELDS) }
  for i = 1, 4 do
    values[i] = string.format('%.0f', (tonumber(values[i]) or 0) + tonumber(ARGV[4 + i]))
  end
  return table.concat(values, ' ')
end

local lines = {}
for line in string.gmatch(text, '[^\n]+') do
  lines[#lines + 1] = line
end
local known, known_width, since = string.match(lines[1] or '', '^(%d+) (%d+) (%d+)$')
if known and tonumber(known) > stage then
  return { now, text }
end
local goes_on = known and tonumber(known) == stage
local slot = math.floor(now_us / 1000000 / width)
local kept = { ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. (goes_on and since or now), sum(goes_on and lines[2] or nil) }
local own
for i = 3, goes_on and known_width == ARGV[2] and #lines or 0 do
  local number, counts = string.match(lines[i], '^(%d+) (.+)$')
  number = tonumber(number)
  if number == slot then
    own = counts
  elseif number and math.abs(slot - number) < slots_max then
    kept[#kept + 1] = lines[i]
  end
end
kept[#kept + 1] = string.format('%.0f', slot) .. ' ' .. sum(own)
text = table.concat(kept, '\n')
redis.call('SET', KEYS[1], text, 'PX', ARGV[4])
return { now, text }
