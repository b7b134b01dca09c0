--[[
The decision on one group, pure: no redis.call here. Twin of src/engine/decide-group.ts, which explains it.

A bucket is { engine, state }: what it is to hold after the groups decided so far (nil: nothing). A group is
{ shadow, quota_always_fits, dry, takes }; a take is { bucket, limit, hits, mode, descriptor } with limit
{ window_us, requests, capacity, edges_us or nil }. A group may come several times in a row (a fold): that is decided in one step,
as src/engine/unfold.ts tells it.
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

-- All takes on one bucket, decided as one: their smallest limit, their hits summed, its state at now_us, left in the bucket as
-- `of_group`; and the list of these buckets. (Tables are made with all their fields: to let one grow takes twice the time.)
local function gather_buckets(group, now_us)
  local gathered = {}
  for _, take in ipairs(group.takes) do
    take.bucket.of_group = nil
  end
  for _, take in ipairs(group.takes) do
    local of_group = take.bucket.of_group
    if not of_group then
      of_group = { limit = take.limit, expiry_limit = nil, hits = 0, refund = 0, charged = 0, state = nil, is_changed = nil, expires_after_us = nil }
      take.bucket.of_group = of_group
      gathered[#gathered + 1] = take.bucket
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
  for _, bucket in ipairs(gathered) do
    local of_group = bucket.of_group
    local before = bucket.state or bucket.engine.fresh(of_group.limit, now_us)
    -- The one write of a denied or dry group: a state from after now, left by a clock that stepped back, is brought to now.
    of_group.is_changed = bucket.state ~= nil and of_group.hits > 0 and bucket.engine.is_ahead(before, of_group.limit, now_us)
    of_group.state = bucket.engine.advance(before, of_group.limit, now_us)
  end
  return gathered
end

-- How many of so many groups in a row the take fits, if each charges it.
local function times_that_fit(take, times)
  if take.hits <= 0 then
    return times
  end
  local of_group = take.bucket.of_group
  local room = take.bucket.engine.room(of_group.state, take.limit)
  if of_group.hits > room then
    return 0
  end
  return math.min(times, (room - fmod(room, of_group.hits)) / of_group.hits)
end

-- How many of them are not over: until an enforced take no longer fits, or each quota descriptor has a take that does not. One
-- that is denied charges nothing, so all that follow are denied as well.
local function times_allowed(group, times)
  local allowed, quota_fits = times, {}
  for _, take in ipairs(group.takes) do
    if take.mode == ENFORCED then
      allowed = math.min(allowed, take.fits)
    elseif take.mode == QUOTA then
      quota_fits[take.descriptor] = math.min(quota_fits[take.descriptor] or times, take.fits)
    end
  end
  if group.quota_always_fits or next(quota_fits) == nil then
    return allowed
  end
  local by_quota = 0
  for _, fits in pairs(quota_fits) do
    by_quota = math.max(by_quota, fits)
  end
  return math.min(allowed, by_quota)
end

-- Charges what fits, as often as the group is allowed, and applies refunds.
local function apply_takes(group, gathered, allowed)
  for _, take in ipairs(group.takes) do
    if take.hits > 0 then
      local of_group = take.bucket.of_group
      of_group.charged = of_group.charged + math.min(allowed, take.fits) * take.hits
    end
  end
  for _, bucket in ipairs(gathered) do
    local engine, of_group = bucket.engine, bucket.of_group
    -- A refund to a bucket that nobody has used changes nothing.
    local refunds = of_group.refund > 0 and (of_group.charged > 0 or not engine.is_unused(of_group.state))
    if of_group.charged > 0 then
      of_group.state = engine.charge(of_group.state, of_group.charged)
      of_group.is_changed = true
    end
    if refunds then
      of_group.state = engine.refund(of_group.state, of_group.refund)
      of_group.is_changed = true
    end
  end
end

-- Appends to the reply: fits, remaining, retry after (us), reset after (us).
local function append_verdict(reply, take, now_us)
  local bucket = take.bucket
  local engine, of_group = bucket.engine, bucket.of_group
  local state = of_group.state
  local retry_after_us = 0
  if take.fits == 0 then
    if of_group.hits > take.limit.capacity then
      retry_after_us = NEVER
    else
      retry_after_us = engine.retry_after_us(state, take.limit, of_group.hits, now_us)
    end
  end
  local n = #reply
  reply[n + 1] = take.fits
  reply[n + 2] = math.max(0, engine.room(state, take.limit))
  reply[n + 3] = retry_after_us
  reply[n + 4] = engine.reset_after_us(state, take.limit, now_us)
end

-- Appends to the reply the state that was found, as two numbers.
local function append_found(reply, take)
  local bucket = take.bucket
  local n = #reply
  reply[n + 1], reply[n + 2] = bucket.engine.to_numbers(bucket.of_group.state)
end

-- Decides the group, as often as it comes in a row, and appends the answer to the reply. Leaves each bucket's new state in
-- it (is_dirty: to be written; expires_after_us nil: to be kept as long as before), at the very end: an error before has
-- changed none.
local function decide_group(group, times, now_us, reply)
  local gathered = gather_buckets(group, now_us)
  for _, take in ipairs(group.takes) do
    take.fits = times_that_fit(take, times)
  end
  local allowed = group.shadow and times or times_allowed(group, times)
  reply[#reply + 1] = allowed
  if times > 1 then
    for _, take in ipairs(group.takes) do
      append_found(reply, take)
    end
  end
  if allowed > 0 and not group.dry then
    apply_takes(group, gathered, allowed)
  end
  for _, bucket in ipairs(gathered) do
    local of_group = bucket.of_group
    of_group.expires_after_us = bucket.expires_after_us
    if of_group.is_changed and (of_group.expiry_limit or not bucket.state) then
      of_group.expires_after_us = bucket.engine.reset_after_us(of_group.state, of_group.expiry_limit or of_group.limit, now_us)
    end
  end
  if times == 1 then
    for _, take in ipairs(group.takes) do
      append_verdict(reply, take, now_us)
    end
  end
  for _, bucket in ipairs(gathered) do
    local of_group = bucket.of_group
    if of_group.is_changed then
      bucket.state, bucket.expires_after_us, bucket.is_dirty = of_group.state, of_group.expires_after_us, true
    end
  end
end
