--[[
Takes groups of hits from buckets: each group all or nothing, on one reading of Redis's clock.

KEYS      The buckets of the takes: of the first take of the first group, of its second take, and so on. A bucket may come more than once.

ARGV      Whole numbers in decimal, but for the ids of slots. Two forms: plain and general.

  Plain form, if every group is plain: enforced takes of at least one hit, from token buckets, leaky buckets and fixed windows of a fixed length, with
  at least 1 request, no bucket twice in a group, not dry, no shadow. Runs, each:
    count           groups of this shape, one after the other; negative: a fold, which is one group that comes that many times (2 or more)
    size            number of arguments of its takes; 0: the shape of an earlier run, and the next argument is the place of that run's size in ARGV
    for each take of a token bucket or a leaky bucket:
      hits          1 or more
      window_us
      capacity
      requests      per window
    for each take of a fixed window:
      hits          negative
      window_us
      capacity

  General form:
    "0"
    shapes          number of shapes: what groups have in common but for their buckets and ids
    for each shape:
      flags         sum of 1: shadow, 2: a quota descriptor always fits, 4: dry, which takes nothing
      takes         number of takes
      for each take:
        algorithm   1 token bucket, 2 fixed window, 3 leaky bucket, 4 sliding window log, 5 sliding window counter, 6 requests in flight, 7 budget
        kind        0 enforced, 1 quota, 2 shadow; plus 3: a usage report; plus 6: a peek, which always fits; plus 12: it names a slot by an id
        descriptor
        hits        0: a check, which fits while one hit is left; negative: a refund
        window_us
        requests    per window
        capacity
        edges       0, or of a calendar window the number of edges, 2 or more
        edge_us     each edge, ascending
        overdraft   of a usage report alone: how far below zero it may take the bucket
    for each run of groups:
      shape         1: the first
      count         groups of that shape, one after the other
      times         2 or more: each of them is a fold. Not of dry groups, refunds, usage reports, logs, requests in flight, or a bucket twice
      id            of each take that names a slot, for each group: 16 hexadecimal digits

Reply     now_us, and then for each group one of these (numbers beyond 9007199254740944, on either side of 0, as texts):
    allowed, and every take fits (of a dry group: would be allowed)
      for each take: remaining, reset_after_us
    -4 denied, or -5 allowed (also of a group without takes)
      for each take: remaining (of one that does not fit, negative if the bucket is below zero), reset_after_us,
                     retry_after_us (-1: never, -2: it fits), and of a usage report the hits that were not charged, as beyond its overdraft
    times allowed, of a fold
      for each take: two numbers, the state of its bucket at now_us before the first of the groups: used and rest; used and 0; current and previous
    -1 a bucket can't be read | -2 now_us lies outside the edges of a take | -3 it can't be decided

Nothing is written before every group has been decided, and each bucket is written at most once. So a run that fails has changed nothing, unless its error
begins with PARTLY (include/writing.lua). A group that can't be decided changes nothing. No key but those in KEYS is touched.
]]
--- @include "server-time"
--- @include "read-values"
--- @include "charge-plain"
--- @include "write-together"
--- @include "write-each"

-- The general path decides all groups that are not plain, and of the plain ones those that charge-plain.lua leaves. Lua creates the functions of a
-- script again in each run, and these only in a run that needs them.
local function load_general_path()
--- @include "numbers"
--- @include "writing"
--- @include "arithmetic"
--- @include "limit"
--- @load "token-bucket"
--- @load "leaky-bucket"
--- @load "fixed-window"
--- @load "sliding-window-log"
--- @load "sliding-window-counter"
--- @load "in-flight"
--- @load "budget"
--- @include "decide-group"
--- @include "buckets"
--- @include "general-groups"
  return { take_general_groups = take_general_groups, take_plain_group = take_plain_group }
end

local keys, args, now_us = KEYS, ARGV, server_time_us()
if args[1] == '0' then
  return load_general_path().take_general_groups(now_us)
end

-- By place in KEYS: the stored values of the buckets; and of those that are to be written, the new value and the time until the bucket
-- is full. 0: the stored value is of the same window, so its TTL stands, and the new value is a number.
local values, new_values, full_after_us = read_values(keys), { nil, nil, nil, nil }, { nil, nil, nil, nil }
-- By key: the last place at which the bucket was charged, for the groups that follow. Nil: the command has one group.
local latest, has_repeats = nil, false
-- Room for the first entries, so that the table seldom grows.
local reply, reply_at = { now_us, nil, nil, nil, nil, nil, nil, nil }, 2
local general_path
-- Most takes have the window of the take before.
local window_digits, window_us
local key_count, at, first_place = #keys, 1, 1
while first_place <= key_count do
  -- A run: groups of one shape, or a fold, which is one group several times.
  local group_count, times, takes_at, arg_count = args[at] + 0, 1, at + 2, args[at + 1] + 0
  if group_count < 0 then
    group_count, times = 1, -group_count
  end
  if arg_count == 0 then
    -- The takes of an earlier run.
    takes_at, at = args[at + 2] + 1, at + 3
    arg_count = args[takes_at - 1] + 0
  else
    at = takes_at + arg_count
  end
  local takes_end = takes_at + arg_count - 1
  if group_count > 1 then
    -- Digits become numbers once for all groups.
    for i = takes_at, takes_end do
      args[i] = args[i] + 0
    end
  end
  if not latest and (group_count > 1 or at <= #args) then
    latest = {}
  end

  for _ = 1, group_count do
    local place, take_at, answer_at, all_fit = first_place, takes_at, reply_at, true
    if times > 1 then
      reply[answer_at] = times
      answer_at = answer_at + 1
    end
    while take_at <= takes_end do
      local value, hits, digits, capacity = values[place], args[take_at] + 0, args[take_at + 1], args[take_at + 2] + 0
      if digits ~= window_digits then
        window_digits, window_us = digits, digits + 0
      end
      local earlier = latest and latest[keys[place]]
      if earlier then
        value, has_repeats = new_values[earlier], true
      end
      local left, reset_after_us, new_value, used, rest, is_in_course
      if hits > 0 then
        left, reset_after_us, new_value, used, rest = charge_tokens(value, now_us, hits * times, window_us, capacity, args[take_at + 3] + 0)
        take_at = take_at + 4
      else
        left, reset_after_us, new_value, used, rest, is_in_course = charge_window(value, now_us, -hits * times, window_us, capacity)
        take_at = take_at + 3
      end
      if not left then
        all_fit = false
        break
      end
      if is_in_course and earlier then
        -- The group before may have begun the window.
        is_in_course = full_after_us[earlier] == 0
      end
      if hits < 0 and not is_in_course then
        -- Redis would print a number as one that may be a fraction, which takes three times as long.
        new_value = string.format('%d', new_value)
      end
      new_values[place], full_after_us[place] = new_value, is_in_course and 0 or reset_after_us
      if latest then
        latest[keys[place]] = place
      end
      if times > 1 then
        left, reset_after_us = used, rest
      end
      reply[answer_at], reply[answer_at + 1] = left, reset_after_us
      answer_at, place = answer_at + 2, place + 1
    end
    if not all_fit then
      general_path = general_path or load_general_path()
      local group = { first_place = first_place, takes_at = takes_at, takes_end = takes_end, times = times }
      local buckets = { values = values, new_values = new_values, full_after_us = full_after_us, latest = latest or {} }
      answer_at, place = general_path.take_plain_group(group, buckets, now_us, reply, reply_at)
    end
    reply_at, first_place = answer_at, place
  end
end

if has_repeats then
  -- A bucket is written once, as the last group leaves it.
  for place = 1, key_count do
    if latest[keys[place]] ~= place then
      full_after_us[place] = nil
    end
  end
end
local has_written, refused = write_together(keys, new_values, full_after_us)
return refused or write_each(keys, values, new_values, full_after_us, has_written) or reply
