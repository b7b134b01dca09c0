--[[
Deletes a bucket, which is then full.

KEYS[1]   the bucket

Reply     1 if there was one, otherwise 0
]]
return redis.call('DEL', KEYS[1])
