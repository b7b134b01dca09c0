--[[
Writes a key, deletes it, and reads Redis's clock: the probe of a server before Weir trusts it.

KEYS[1]   a key of Weir's own; absent on a node of a Redis Cluster, which may not own its slot: nothing is written
KEYS[2]   a key of another slot, which is only named; absent: the run has keys of one slot

Reply     Redis's clock, in microseconds since 1970
]]
--- @include "server-time"

if KEYS[1] then
  redis.call('SET', KEYS[1], '', 'PX', 1000)
  redis.call('DEL', KEYS[1])
end
return server_time_us()
