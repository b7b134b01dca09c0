--[[
The buckets that a run names, as Redis holds them: read when first asked for, written once at the end. Not pure: beside the
clock, the one include that calls redis.
]]
local ENGINES = { token_bucket, fixed_window, leaky_bucket, sliding_window_log, sliding_window_counter }
local EXPIRY_MARGIN_US = 2000000

local buckets = {}

local function read_bucket(key, engine)
  local value = redis.pcall('GET', key)
  if not value then
    return { key = key, engine = engine }
  end
  local state = type(value) == 'string' and engine.unpack(value)
  return { key = key, engine = engine, exists = true, state = state or nil, is_unreadable = not state }
end

local function write_bucket(bucket)
  if not bucket.state or bucket.engine.is_unused(bucket.state) then
    if bucket.exists then
      redis.call('DEL', bucket.key)
    end
  elseif bucket.expires_after_us then
    local ttl_ms = math.ceil((bucket.expires_after_us + EXPIRY_MARGIN_US) / 1000)
    redis.call('SET', bucket.key, bucket.engine.pack(bucket.state), 'PX', string.format('%.0f', ttl_ms))
  else
    redis.call('SET', bucket.key, bucket.engine.pack(bucket.state), 'KEEPTTL')
  end
end

-- The bucket that two arguments from `at` on name: index into KEYS, algorithm.
local function bucket_at(at)
  local index = tonumber(ARGV[at])
  if not buckets[index] then
    buckets[index] = read_bucket(KEYS[index], ENGINES[tonumber(ARGV[at + 1])])
  end
  return buckets[index]
end

local function read_edges(at)
  local count = tonumber(ARGV[at])
  if count == 0 then
    return nil
  end
  local edges_us = {}
  for i = 1, count do
    edges_us[i] = tonumber(ARGV[at + i])
  end
  return edges_us
end

-- The limit that the arguments from `at` on name: window_us, requests, capacity, number of edges, edges.
local function limit_at(at)
  return {
    window_us = tonumber(ARGV[at]),
    requests = tonumber(ARGV[at + 1]),
    capacity = tonumber(ARGV[at + 2]),
    edges_us = read_edges(at + 3),
  }
end

-- Writes the buckets that the run has changed.
local function write_buckets()
  for i = 1, #KEYS do
    if buckets[i] and buckets[i].is_dirty then
      write_bucket(buckets[i])
    end
  end
end
