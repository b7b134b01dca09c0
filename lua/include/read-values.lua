--[[
Reads many buckets with one command.
]]

-- The values of the keys, by their places. False: the bucket does not exist. A table: the value is not a string, or Redis refused to read it.
local function read_values(keys)
  if #keys == 1 then
    return { redis.pcall('GET', keys[1]) }
  end
  -- unpack returns about 8,000 values at most.
  local MGET_KEYS_MAX = 4000
  local values = #keys <= MGET_KEYS_MAX and redis.pcall('MGET', unpack(keys)) or { err = 'too many keys' }
  -- MGET shows a value that is not a string as absent; EXISTS counts it.
  local absent, absent_count = nil, 0
  for place = 1, #values do
    if not values[place] then
      absent, absent_count = absent or {}, absent_count + 1
      absent[absent_count] = keys[place]
    end
  end
  if values.err or (absent and redis.pcall('EXISTS', unpack(absent)) ~= 0) then
    for place = 1, #keys do
      values[place] = redis.pcall('GET', keys[place])
    end
  end
  return values
end
