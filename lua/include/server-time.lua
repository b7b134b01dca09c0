--[[
The one clock: Redis's own. Called once per run; tests put a clock of their own in place of this file.
]]
local function server_time_us()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
