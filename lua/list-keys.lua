--[[
Reads a part of the keys of this server.

KEYS[1]   a key of the slot whose server is asked; it is not read
ARGV[1]   the cursor of SCAN; "0" to begin
ARGV[2]   the pattern of the keys
ARGV[3]   about how many keys are looked at

Reply     the next cursor, "0" at the end, then the keys
]]
local found = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
local reply = { found[1] }
for i, key in ipairs(found[2]) do
  reply[i + 1] = key
end
return reply
