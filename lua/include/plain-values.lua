--[[
Reads the buckets of plain groups (defined in take.lua) in one command. values is nil if a value is not a string or Redis refuses the
command: the general path then decides the groups.
]]
-- unpack hands on some 8,000 values at most.
local PLAIN_KEYS_MAX = 4000
local keys, args, values = KEYS, ARGV, nil
if #keys == 1 then
  local value = redis.pcall('GET', keys[1])
  values = type(value) ~= 'table' and { value } or nil
elseif #keys <= PLAIN_KEYS_MAX then
  values = redis.pcall('MGET', unpack(keys))
  -- MGET shows a value that is not a string as absent; EXISTS counts it.
  local absent, absent_count = nil, 0
  for place = 1, #values do
    if not values[place] then
      absent, absent_count = absent or {}, absent_count + 1
      absent[absent_count] = keys[place]
    end
  end
  if values.err or (absent and redis.pcall('EXISTS', unpack(absent)) ~= 0) then
    values = nil
  end
end
-- Bytes of a token bucket's value, as include/token-bucket.lua has it, and the least level that needs the longer one.
local SHORT_BYTES, SHORT_FORM, LONG_BYTES, LONG_FORM, LONG_LEVEL = 12, '>I7I5', 14, '>I7I7', 1099511627776
