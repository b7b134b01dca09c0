--[[
The buckets that a run names, as Redis holds them: read when first asked for, written once at the end. Not pure: beside the
clock, the one include that calls redis.
]]
local ENGINE_LOADERS = { load_token_bucket, load_fixed_window, load_leaky_bucket, load_sliding_window_log, load_sliding_window_counter }
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

local function read_bucket(key, engine)
  local value = redis.pcall('GET', key)
  local state = type(value) == 'string' and engine.unpack(value) or nil
  return {
    key = key,
    engine = engine,
    exists = value ~= false,
    state = state,
    is_unreadable = value and not state,
    is_dirty = false,
    expires_after_us = nil,
    of_group = nil,
  }
end

local function write_bucket(bucket)
  if not bucket.state or bucket.engine.is_unused(bucket.state) then
    if bucket.exists then
      redis.call('DEL', bucket.key)
    end
  elseif bucket.expires_after_us then
    local ttl_ms = math.ceil((bucket.expires_after_us + EXPIRY_MARGIN_US) / 1000)
    redis.call('SET', bucket.key, bucket.engine.pack(bucket.state), 'PX', string.format('%d', ttl_ms))
  else
    redis.call('SET', bucket.key, bucket.engine.pack(bucket.state), 'KEEPTTL')
  end
end

local function bucket_of(key, engine)
  local bucket = buckets[key]
  if not bucket then
    bucket = read_bucket(key, engine)
    buckets[key] = bucket
  end
  return bucket
end

-- Writes the buckets that the run has changed.
local function write_buckets()
  for _, key in ipairs(KEYS) do
    local bucket = buckets[key]
    if bucket.is_dirty then
      write_bucket(bucket)
      bucket.is_dirty = false
    end
  end
end
