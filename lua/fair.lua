--[[
Adds what the members of one limit asked for in one window, for all processes. Without members it answers all of them.

KEYS[1]   the demand: a hash of members to hits
ARGV[1]   most members; further ones are counted as the member without a name
ARGV[2]   for how many milliseconds the demand is kept
ARGV[3…]  for each member its name and its hits, none: read

Reply     0, or members and hits in turn
]]
local KEY = KEYS[1]
if #ARGV == 0 then
  return redis.call('HGETALL', KEY)
end

local left = tonumber(ARGV[1]) - redis.call('HLEN', KEY)
for i = 3, #ARGV, 2 do
  local member = ARGV[i]
  if redis.call('HEXISTS', KEY, member) == 0 then
    if left <= 0 then
      member = ''
    end
    left = left - 1
  end
  redis.call('HINCRBY', KEY, member, ARGV[i + 1])
end
redis.call('PEXPIRE', KEY, ARGV[2])
return 0
