--[[
The buckets that a run names, as Redis holds them: read when first asked for, written once at the end. Not pure: beside the
clock, the one include that calls redis.
]]
local ENGINE_LOADERS = { load_token_bucket, load_fixed_window, load_leaky_bucket, load_sliding_window_log, load_sliding_window_counter }
-- Local, as is what stands in math (arithmetic.lua).
local call_redis, pcall_redis = redis.call, redis.pcall
local EXPIRY_MARGIN_US = 2000000

-- By their codes. Each is made when it is first asked for: to make all of them costs as much as to decide two groups.
local engines = {}
-- By their keys.
local buckets = {}

local function engine_of(code)
  local engine = engines[code]
  if not engine then
    engine = ENGINE_LOADERS[code]()
    engines[code] = engine
  end
  return engine
end

local function write_bucket(bucket)
  if not bucket.state or bucket.engine.is_unused(bucket.state) then
    if bucket.exists then
      call_redis('DEL', bucket.key)
    end
  elseif bucket.expires_after_us then
    local ttl_ms = ceil((bucket.expires_after_us + EXPIRY_MARGIN_US) / 1000)
    call_redis('SET', bucket.key, bucket.engine.pack(bucket.state), 'PX', ttl_ms)
  else
    call_redis('SET', bucket.key, bucket.engine.pack(bucket.state), 'KEEPTTL')
  end
end

local function bucket_of(key, engine)
  local known = buckets[key]
  if known then
    return known
  end
  local value, state = pcall_redis('GET', key), nil
  if type(value) == 'string' then
    state = engine.unpack(value)
  end
  local bucket = {
    key = key,
    engine = engine,
    exists = value ~= false,
    state = state,
    is_unreadable = value and not state,
    is_dirty = false,
    expires_after_us = nil,
    first_take = nil,
  }
  buckets[key] = bucket
  return bucket
end

-- Writes the buckets that the run has changed.
local function write_buckets()
  for i = 1, #KEYS do
    local bucket = buckets[KEYS[i]]
    if bucket.is_dirty then
      write_bucket(bucket)
      bucket.is_dirty = false
    end
  end
end
