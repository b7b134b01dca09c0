--[[
The decision on one group, pure: no redis.call here. Twin of src/engine/decide-group.ts, which explains it.

A bucket is { engine, stored, state }: `stored` is what Redis holds (nil: nothing), `state` what it is to hold after
the groups decided so far. A group is { shadow, quota_always_fits, dry, takes }; a take is
{ bucket, limit, hits, mode, descriptor } with limit { window_us, requests, capacity, edges_us or nil }.
]]
local ENFORCED, QUOTA = 0, 1
local NEVER = -1

-- Whether some take names calendar windows of which none holds now_us: the caller must name others.
local function is_outside_windows(group, now_us)
  for _, take in ipairs(group.takes) do
    if is_outside(take.limit, now_us) then
      return true
    end
  end
  return false
end

-- All takes on one bucket, decided as one: their smallest limit, their hits summed, its state at now_us.
local function gather_buckets(group, now_us)
  local gathered = {}
  for _, take in ipairs(group.takes) do
    local bucket = take.bucket
    local of_group = gathered[bucket]
    if not of_group then
      of_group = { limit = take.limit, hits = 0, refund = 0, charged = 0 }
      gathered[bucket] = of_group
    end
    if take.limit.requests < of_group.limit.requests then
      of_group.limit = take.limit
    end
    -- The smallest that refills at all: when the bucket is full under it, it is full under each.
    local expiry_limit = of_group.expiry_limit
    if take.limit.requests > 0 and (not expiry_limit or take.limit.requests < expiry_limit.requests) then
      of_group.expiry_limit = take.limit
    end
    if take.hits > 0 then
      of_group.hits = of_group.hits + take.hits
    else
      of_group.refund = of_group.refund - take.hits
    end
  end
  for bucket, of_group in pairs(gathered) do
    local before = bucket.state or bucket.engine.fresh(of_group.limit, now_us)
    of_group.is_ahead = bucket.state ~= nil and bucket.engine.is_ahead(before, of_group.limit, now_us)
    of_group.state = bucket.engine.advance(before, of_group.limit, now_us)
  end
  return gathered
end

-- Over: an enforced take does not fit, or there are quota descriptors and each has a take that does not.
local function is_over_limit(group)
  local quota_fits = {}
  for _, take in ipairs(group.takes) do
    if take.mode == ENFORCED and not take.fits then
      return true
    end
    if take.mode == QUOTA then
      quota_fits[take.descriptor] = quota_fits[take.descriptor] ~= false and take.fits
    end
  end
  if group.quota_always_fits or next(quota_fits) == nil then
    return false
  end
  for _, fits in pairs(quota_fits) do
    if fits then
      return false
    end
  end
  return true
end

-- Charges what fits, applies refunds; whether that changed the bucket.
local function apply_takes(of_group, engine)
  local refund = of_group.refund
  if engine.is_unused(of_group.state) and of_group.charged == 0 then
    -- A refund to a bucket that nobody has used changes nothing.
    refund = 0
  end
  if of_group.charged > 0 then
    of_group.state = engine.charge(of_group.state, of_group.charged)
  end
  if refund > 0 then
    of_group.state = engine.refund(of_group.state, refund)
  end
  return of_group.charged > 0 or refund > 0
end

-- Appends to the reply: fits, remaining, retry after (us), reset after (us).
local function append_verdict(reply, take, of_group, now_us)
  local engine, state = take.bucket.engine, of_group.state
  local retry_after_us = 0
  if not take.fits then
    if of_group.hits > take.limit.capacity then
      retry_after_us = NEVER
    else
      retry_after_us = engine.retry_after_us(state, take.limit, of_group.hits, now_us)
    end
  end
  local n = #reply
  reply[n + 1] = take.fits and 1 or 0
  reply[n + 2] = math.max(0, engine.room(state, take.limit))
  reply[n + 3] = retry_after_us
  reply[n + 4] = engine.reset_after_us(state, take.limit, now_us)
end

-- Decides the group, leaves each bucket's new state in it (is_dirty: to be written; expires_after_us nil: to be kept
-- as long as before), appends the answer to the reply.
local function decide_group(group, now_us, reply)
  local gathered = gather_buckets(group, now_us)
  for _, take in ipairs(group.takes) do
    local of_group = gathered[take.bucket]
    take.fits = take.hits <= 0 or of_group.hits <= take.bucket.engine.room(of_group.state, take.limit)
    if take.fits and take.hits > 0 then
      of_group.charged = of_group.charged + take.hits
    end
  end
  local is_denied = not group.shadow and is_over_limit(group)
  for bucket, of_group in pairs(gathered) do
    local changed = not is_denied and not group.dry and apply_takes(of_group, bucket.engine)
    -- The one write of a denied or dry group: a state from after now, left by a clock that stepped back, is brought to now.
    if changed or (of_group.is_ahead and of_group.hits > 0) then
      if of_group.expiry_limit or not bucket.state then
        local expiry_limit = of_group.expiry_limit or of_group.limit
        bucket.expires_after_us = bucket.engine.reset_after_us(of_group.state, expiry_limit, now_us)
      end
      bucket.state = of_group.state
      bucket.is_dirty = true
    end
  end
  reply[#reply + 1] = is_denied and 1 or 0
  for _, take in ipairs(group.takes) do
    append_verdict(reply, take, gathered[take.bucket], now_us)
  end
end
