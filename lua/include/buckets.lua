--[[
The buckets that a run names, as Redis holds them: read when first asked for, written once at the end. Not pure: it calls redis.
]]
--- @needs "numbers" "writing" "token-bucket" "fixed-window" "leaky-bucket" "sliding-window-log" "sliding-window-counter" "in-flight" "budget"
local ENGINE_LOADERS = { load_token_bucket, load_fixed_window, load_leaky_bucket, load_sliding_window_log, load_sliding_window_counter, load_in_flight, load_budget }
-- Local, as are the short names of numbers.lua.
local call_redis, pcall_redis = redis.call, redis.pcall

-- By their codes. Each is made when it is first asked for: to make all of them costs as much as to decide two groups.
local engines = {}
-- By their keys, and in the order in which they were first asked for.
local buckets, buckets_in_order, bucket_count = {}, {}, 0

local function engine_of(code)
  local engine = engines[code]
  if not engine then
    engine = ENGINE_LOADERS[code]()
    engines[code] = engine
  end
  return engine
end

-- As digits: Redis itself would print the number as one that may be a fraction, which takes three times as long.
local function ttl_ms(expires_after_us)
  return format('%d', ceil((expires_after_us + EXPIRY_MARGIN_US) / 1000))
end

local function write_bucket(bucket)
  if not bucket.state or bucket.engine.is_unused(bucket.state) then
    if bucket.exists then
      call_redis('DEL', bucket.key)
    end
  elseif bucket.engine.is_kept then
    call_redis('SET', bucket.key, bucket.engine.pack(bucket.state, bucket.limit))
  elseif bucket.expires_after_us then
    call_redis('SET', bucket.key, bucket.engine.pack(bucket.state, bucket.limit), 'PX', ttl_ms(bucket.expires_after_us))
  else
    call_redis('SET', bucket.key, bucket.engine.pack(bucket.state, bucket.limit), 'KEEPTTL')
  end
end

-- A bucket with its stored value (false: there is none). Its state is false if the value can't be read.
local function new_bucket(key, engine, limit, value)
  local state
  if value then
    state = type(value) == 'string' and engine.unpack(value, limit) or false
  end
  -- There is room for three fields more, so that the table does not grow: is_dirty, expires_after_us, first_take.
  return { key = key, engine = engine, limit = limit, exists = value ~= false, state = state }
end

-- Limits of one bucket have their window in common: any of them says how its value is read.
local function bucket_of(key, engine, limit)
  local known = buckets[key]
  if known then
    return known
  end
  local bucket = new_bucket(key, engine, limit, pcall_redis('GET', key))
  buckets[key] = bucket
  bucket_count = bucket_count + 1
  buckets_in_order[bucket_count] = bucket
  return bucket
end

-- Writes the buckets that the run has changed, from that place on.
local function write_from(place)
  for i = place, bucket_count do
    local bucket = buckets_in_order[i]
    if bucket.is_dirty then
      write_bucket(bucket)
    end
  end
end

-- Writes the buckets that the run has changed; a reply if Redis refused some of them.
local function write_buckets()
  local first = 1
  while first <= bucket_count and not buckets_in_order[first].is_dirty do
    first = first + 1
  end
  if first > bucket_count then
    return nil
  end
  write_bucket(buckets_in_order[first])
  if first < bucket_count and not pcall(write_from, first + 1) then
    return redis.error_reply(WRITTEN_IN_PART)
  end
end
