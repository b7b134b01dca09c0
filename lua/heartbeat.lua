--[[
Says that an instance lives, and counts those that do, on one reading of Redis's clock.

KEYS[1]   the instances: "name when" for each, separated by a line feed; `when` in milliseconds
ARGV[1]   the instance's own name, without white space
ARGV[2]   "1": it lives; "0": it leaves
ARGV[3]   for how many milliseconds a heartbeat counts
ARGV[4]   most instances that are written down, the one that beats among them

Reply     the number of live instances, with this one unless it leaves

One string read and written: a user of Redis's who may decide may do this.
]]
--- @include "server-time"

local key, name, lives, ttl_ms, instances_max = KEYS[1], ARGV[1], ARGV[2] == '1', tonumber(ARGV[3]), tonumber(ARGV[4])
local now_ms = math.floor(server_time_us() / 1000)
local value = redis.pcall('GET', key)
local lines = {}
if type(value) == 'string' then
  for other, at_ms in string.gmatch(value, '(%S+) (%d+)') do
    -- One far ahead was written before the clock stepped back, and would count until the clock is there again.
    local is_live = math.abs(now_ms - tonumber(at_ms)) < ttl_ms
    if other ~= name and is_live and #lines < instances_max - 1 then
      lines[#lines + 1] = other .. ' ' .. at_ms
    end
  end
end
if lives then
  lines[#lines + 1] = name .. ' ' .. string.format('%.0f', now_ms)
end
if #lines == 0 then
  redis.call('DEL', key)
else
  redis.call('SET', key, table.concat(lines, '\n'), 'PX', ARGV[3])
end
return #lines
