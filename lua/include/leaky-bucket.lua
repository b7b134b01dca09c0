--[[
Leaky bucket, pure: no redis.call here. Twin of src/domain/algorithm/leaky-bucket.ts, which explains why it is the token bucket
with another capacity: 1 + burst.
]]
--- @needs "token-bucket"
return load_token_bucket()
