--[[
One adjustment, pure: no redis.call here. Twin of src/domain/decide/adjust-bucket.ts, which explains it.

An adjustment is { bucket, limit, hits, taken_at_us, used_before, overdraft_max, slot_id (of a slot given back) }; a bucket and a limit are as in decide-group.lua.
]]
--- @needs "numbers" "limit"

-- Leaves the bucket's new state in it, and expires_after_us; says how many hits were charged.
local function charge_hits(adjustment, state, now_us)
  local bucket, limit = adjustment.bucket, adjustment.limit
  local charged = min(adjustment.hits, max(0, bucket.engine.room(state, limit) + adjustment.overdraft_max))
  if charged == 0 then
    return 0
  end
  local after = bucket.engine.charge(state, charged)
  if limit.requests > 0 or not bucket.state then
    bucket.expires_after_us = bucket.engine.reset_after_us(after, limit, now_us)
  end
  bucket.state = after
  return charged
end

-- Leaves the bucket's new state in it, or none; says how many hits were given back. Its TTL stays as it was.
local function give_back_hits(adjustment, state)
  local bucket, limit = adjustment.bucket, adjustment.limit
  if is_outside(limit, adjustment.taken_at_us) then
    return 0
  end
  local after, given = bucket.engine.give_back(state, limit, -adjustment.hits, adjustment.taken_at_us, adjustment.used_before, adjustment.slot_id)
  if given == 0 then
    return 0
  end
  if bucket.engine.is_unused(after) then
    bucket.state = nil
  else
    bucket.state = after
  end
  return given
end

-- Applies the adjustment to its bucket (is_dirty: to be written); says how many hits that came to, or -1 outside the edges.
local function adjust_bucket(adjustment, now_us)
  local bucket, limit = adjustment.bucket, adjustment.limit
  if is_outside(limit, now_us) then
    return -1
  end
  local state = bucket.engine.advance(bucket.state or bucket.engine.fresh(limit, now_us), limit, now_us)
  local applied
  if adjustment.hits > 0 then
    applied = charge_hits(adjustment, state, now_us)
  else
    applied = give_back_hits(adjustment, state)
  end
  bucket.is_dirty = bucket.is_dirty or applied > 0
  return applied
end
