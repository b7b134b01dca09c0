--[[
A clock for tests, in place of lua/include/server-time.lua: it says what the key "test-clock-us" holds.
]]
local function server_time_us()
  return tonumber(redis.call('GET', 'test-clock-us'))
end
