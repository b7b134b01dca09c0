--[[
The decision on one group, pure: no redis.call here. Twin of src/domain/decide/decide-group.ts, which explains it.

A bucket is { state, first_take }: what it is to hold after the groups decided so far (nil: nothing), and nil. A group is
{ shadow, quota_always_fits, dry, has_reports, has_slots, takes }; a take is { bucket, engine, limit, hits, mode, descriptor,
overdraft_max (of a usage report), is_peek, slot_id (of one that names a slot) } with limit { window_us, requests, capacity, edges_us or nil }. A group may come several times in a row (a fold): that is decided in one step,
as src/domain/decide/unfold.ts tells it.

All takes on one bucket are decided as one. The first of them (`of_bucket` of each) holds what the twin has in a GroupBucket: the takes of
a shape serve all of its groups, so that no table is made for a group. (Tables are what costs a script most: lua/README.md.)
]]
--- @needs "numbers" "limit"
local ENFORCED, QUOTA = 0, 1
-- In place of a time to retry after.
local NEVER, FITS = -1, -2
-- In place of remaining, where not all takes of a group fit.
local DENIED, ALLOWED = -4, -5

-- Whether some take names calendar windows and none of them holds now_us: the caller must name others.
local function is_outside_windows(group, now_us)
  local takes = group.takes
  for i = 1, #takes do
    if is_outside(takes[i].limit, now_us) then
      return true
    end
  end
  return false
end

-- How many of `times` groups in a row the take fits, if each charges it.
local function times_that_fit(take, times)
  local of_bucket, hits = take.of_bucket, take.hits
  if hits < 0 or take.is_peek or take.is_held then
    return times
  end
  local room = take.engine.room(of_bucket.state, take.limit)
  if hits == 0 then
    return room >= 1 and times or 0
  end
  hits = of_bucket.hits_of_all
  if hits > room then
    return 0
  end
  if hits * times <= room then
    return times
  end
  return (room - room % hits) / hits
end

local function advance_bucket(take, now_us)
  local engine, stored, limit = take.engine, take.bucket.state, take.smallest_limit
  take.state = stored and engine.advance(stored, limit, now_us) or engine.fresh(limit, now_us)
end

local function advance_buckets(takes, now_us)
  for i = 1, #takes do
    if takes[i].of_bucket == takes[i] then
      advance_bucket(takes[i], now_us)
    end
  end
end

-- Counts the slots that takes ask for by an id: a request that has its slot already needs no other, and two takes of one request
-- need one. All buckets are of now.
local function count_new_slots(takes)
  for i = 1, #takes do
    local take = takes[i]
    local of_bucket, id = take.of_bucket, take.slot_id
    if of_bucket == take then
      take.new_slots = {}
    end
    take.is_held = id and of_bucket.engine.holds(of_bucket.state, id)
    if id and take.hits > 0 and not take.is_held and not of_bucket.new_slots[id] then
      of_bucket.new_slots[id] = true
      of_bucket.hits_of_all = of_bucket.hits_of_all + 1
    end
  end
end

-- Leaves in the first take on each bucket the smallest limit of all takes on it, their hits summed, and its state at now_us; and in
-- each take how many of `times` groups in a row it fits. Returns whether each fits all of them, and false without takes.
local function gather_buckets(group, times, now_us)
  local takes, has_slots = group.takes, group.has_slots
  for i = 1, #takes do
    local take = takes[i]
    local limit, hits, bucket = take.limit, take.hits, take.bucket
    local first = bucket.first_take
    if not first then
      first = take
      bucket.first_take = take
      take.smallest_limit, take.expiry_limit, take.hits_of_all, take.charged, take.is_changed = limit, nil, 0, 0, false
    elseif limit.requests < first.smallest_limit.requests then
      first.smallest_limit = limit
    end
    take.of_bucket = first
    -- The smallest that refills at all: when the bucket is full under it, it is full under each.
    local expiry_limit = first.expiry_limit
    if limit.requests > 0 and (not expiry_limit or limit.requests < expiry_limit.requests) then
      first.expiry_limit = limit
    end
    if hits > 0 then
      first.hits_of_all = first.hits_of_all + (take.slot_id and 0 or hits)
    end
  end
  if has_slots then
    advance_buckets(takes, now_us)
    count_new_slots(takes)
  end
  local all_fit = #takes > 0
  for i = 1, #takes do
    local take = takes[i]
    if not has_slots and take.of_bucket == take then
      advance_bucket(take, now_us)
    end
    local fits = times_that_fit(take, times)
    take.fits = fits
    all_fit = all_fit and fits == times
  end
  return all_fit
end

-- How many of them are not over: until an enforced take no longer fits, or each quota descriptor has a take that does not. One
-- that is denied charges nothing, so all that follow are denied as well.
local function times_allowed(group, times)
  local takes = group.takes
  local allowed, quota_fits = times, nil
  for i = 1, #takes do
    local take = takes[i]
    if take.mode == ENFORCED then
      if take.fits < allowed then
        allowed = take.fits
      end
    elseif take.mode == QUOTA then
      quota_fits = quota_fits or {}
      quota_fits[take.descriptor] = min(quota_fits[take.descriptor] or times, take.fits)
    end
  end
  if group.quota_always_fits or not quota_fits then
    return allowed
  end
  local by_quota = 0
  for _, fits in pairs(quota_fits) do
    by_quota = max(by_quota, fits)
  end
  return min(allowed, by_quota)
end

-- The first take on a bucket, and hits.
local function charge(of_bucket, hits)
  if hits > 0 then
    of_bucket.state = of_bucket.engine.charge(of_bucket.state, hits)
    of_bucket.is_changed = true
  end
end

-- A refund to a bucket that nobody has used changes nothing, and so does one of a slot that is not there.
local function refund(of_bucket, hits, slot_id)
  if not of_bucket.engine.is_unused(of_bucket.state) then
    local after = of_bucket.engine.refund(of_bucket.state, hits, slot_id)
    of_bucket.is_changed = of_bucket.is_changed or after ~= of_bucket.state
    of_bucket.state = after
  end
end

-- Takes the slots that are named, as far as they fit: one for each id, though several takes name it.
local function charge_new_slots(takes)
  for i = 1, #takes do
    local take = takes[i]
    local of_bucket, id = take.of_bucket, take.slot_id
    if id and take.hits > 0 and take.fits > 0 and not of_bucket.engine.holds(of_bucket.state, id) then
      of_bucket.state = of_bucket.engine.charge(of_bucket.state, 1, id)
      of_bucket.is_changed = true
    end
  end
end

-- Charges each usage report down to its own overdraft; what lies beyond is cut off.
local function charge_reports(takes)
  for i = 1, #takes do
    local take = takes[i]
    local overdraft_max, hits, of_bucket = take.overdraft_max, take.hits, take.of_bucket
    if overdraft_max then
      local charged = min(hits, max(0, take.engine.room(of_bucket.state, take.limit) + overdraft_max))
      charge(of_bucket, charged)
      take.cut = hits - charged
    end
  end
end

-- Charges admissions that fit, as often as the group is allowed; then usage reports; and applies refunds last, each by itself: their sum may not be exact.
local function apply_takes(group, allowed)
  local takes = group.takes
  for i = 1, #takes do
    local take = takes[i]
    if take.hits > 0 and not take.overdraft_max and not take.slot_id then
      local of_bucket = take.of_bucket
      of_bucket.charged = of_bucket.charged + min(allowed, take.fits) * take.hits
    end
  end
  for i = 1, #takes do
    local take = takes[i]
    if take.of_bucket == take then
      charge(take, take.charged)
    end
  end
  if group.has_slots and allowed > 0 then
    charge_new_slots(takes)
  end
  if group.has_reports then
    charge_reports(takes)
  end
  for i = 1, #takes do
    local take = takes[i]
    if take.hits < 0 and (take.overdraft_max or allowed > 0) then
      refund(take.of_bucket, -take.hits, take.slot_id)
    end
  end
end

-- Puts into the reply, from `at` on: remaining, reset after (us); says what remains, below zero too.
local function put_rest(reply, at, take, now_us)
  local of_bucket, engine, limit = take.of_bucket, take.engine, take.limit
  -- Mostly known already: it is how long the bucket is to be kept.
  local reset_after_us = of_bucket.reset_after_us
  if not reset_after_us or of_bucket.expiry_limit ~= limit then
    reset_after_us = engine.reset_after_us(of_bucket.state, limit, now_us)
  end
  local room = engine.room(of_bucket.state, limit)
  reply[at] = in_reply(max(0, room))
  reply[at + 1] = reset_after_us
  return room
end

local function retry_after_us(take, now_us)
  local of_bucket, limit, hits = take.of_bucket, take.limit, 1
  if take.fits > 0 then
    return FITS
  end
  -- A check waits for one hit, and so does a usage report: what it has charged is charged.
  if take.hits > 0 and not take.overdraft_max then
    hits = of_bucket.hits_of_all
  end
  if hits > limit.capacity then
    return NEVER
  end
  return take.engine.retry_after_us(of_bucket.state, limit, hits, now_us)
end

-- Puts the answer on a group that comes once into the reply, from `at` on: as lua/take.lua has it; says where it ends.
local function put_answer(reply, at, takes, answer, now_us)
  if not answer then
    for i = 1, #takes do
      put_rest(reply, at, takes[i], now_us)
      at = at + 2
    end
    return at
  end
  reply[at] = answer
  at = at + 1
  for i = 1, #takes do
    local take = takes[i]
    local room = put_rest(reply, at, take, now_us)
    if take.fits == 0 then
      reply[at] = in_reply(room)
    end
    reply[at + 2] = retry_after_us(take, now_us)
    at = at + 3
    if take.overdraft_max then
      reply[at] = in_reply(take.cut or 0)
      at = at + 1
    end
  end
  return at
end

-- Decides a group of one take, as most are: what decide_group comes to for it, if it fits, in half the steps. Says where the answer ends;
-- nil, and nothing is done, if it is to be decided as any other.
local function decide_one(take, now_us, reply, at)
  local bucket, engine, limit, hits = take.bucket, take.engine, take.limit, take.hits
  if hits <= 0 or limit.requests == 0 or take.slot_id then
    return nil
  end
  local stored = bucket.state
  local state = stored and engine.advance(stored, limit, now_us) or engine.fresh(limit, now_us)
  local room = engine.room(state, limit)
  -- The room of a budget is cut to what is exact, so there may be more.
  if hits > room or room == EXACT_MAX then
    return nil
  end
  state = engine.charge(state, hits)
  local reset_after_us = engine.reset_after_us(state, limit, now_us)
  reply[at] = in_reply(room - hits)
  reply[at + 1] = reset_after_us
  bucket.state, bucket.is_dirty, bucket.expires_after_us = state, true, reset_after_us
  return at + 2
end

-- Decides the group, as often as it comes in a row, and puts the answer into the reply, from `at` on; says where it ends. Leaves
-- each bucket's new state in it (expires_after_us nil: to be kept as long as before), and marks it as one to be written, at the
-- very end: an error before has changed none.
local function decide_group(group, times, now_us, reply, at)
  local takes = group.takes
  local ends_at = times == 1 and #takes == 1 and not group.dry and decide_one(takes[1], now_us, reply, at)
  if ends_at then
    return ends_at
  end
  local all_fit = gather_buckets(group, times, now_us)
  local allowed = (all_fit or group.shadow) and times or times_allowed(group, times)
  if times > 1 then
    reply[at] = allowed
    at = at + 1
    for i = 1, #takes do
      local take = takes[i]
      local used, rest = take.engine.to_numbers(take.of_bucket.state)
      reply[at], reply[at + 1] = in_reply(used), in_reply(rest)
      at = at + 2
    end
  end
  if (allowed > 0 or group.has_reports) and not group.dry then
    apply_takes(group, allowed)
  end
  for i = 1, #takes do
    local take = takes[i]
    if take.of_bucket == take then
      local stored = take.bucket.state
      -- The one write of a denied or dry group: a state from after now, left by a clock that stepped back, is brought to now.
      if not take.is_changed and stored and take.hits_of_all > 0 then
        take.is_changed = take.engine.is_ahead(stored, take.smallest_limit, now_us)
      end
      take.reset_after_us = nil
      if take.is_changed and (take.expiry_limit or not stored) then
        take.reset_after_us = take.engine.reset_after_us(take.state, take.expiry_limit or take.smallest_limit, now_us)
      end
    end
  end
  if times == 1 then
    at = put_answer(reply, at, takes, not all_fit and (allowed > 0 and ALLOWED or DENIED), now_us)
  end
  for i = 1, #takes do
    local take = takes[i]
    if take.of_bucket == take and take.is_changed then
      local bucket = take.bucket
      bucket.state, bucket.is_dirty = take.state, true
      bucket.expires_after_us = take.reset_after_us or bucket.expires_after_us
    end
  end
  return at
end
