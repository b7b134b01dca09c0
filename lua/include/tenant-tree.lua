--[[
The trees of tenants: refuses changes that would leave none, and counts how many tenants are one, two and more levels below each.
Twin of `src/state/control/tenants/tenant-tree.ts`. The records say who is above a tenant, so that a lost key of counts hides no cycle.
]]
local TENANT, TENANTS, TREE = 1, KEYS[5], KEYS[12]
local LEVELS_BELOW, CHILDREN_MAX = tonumber(ARGV[21]) - 1, tonumber(ARGV[22])
-- A store that lost its records has lost its trees too, and the counts mean nothing.
local has_tenants = redis.call('HLEN', TENANTS) > 0
-- As the changes would leave them, by field: the parent, or false; and the counts.
local draft_parents, draft_counts = {}, {}

-- The field of the parent in the text of a record, with its version or without; nil: it has none.
local function parent_in(field, text)
  -- A text inside of a record has a backslash before each quote.
  if not text or not string.find(text, '"parent":', 1, true) then
    return nil
  end
  local is_read, record = pcall(cjson.decode, string.match(text, '{.*'))
  if not is_read or type(record.parent) ~= 'string' then
    return nil
  end
  local escaped = string.gsub(record.parent, "[^%w%-_.!~*'()]", function(char)
    return string.format('%%%02X', string.byte(char))
  end)
  return string.match(field, '^[^/]*/') .. escaped
end

local function parent_of(field)
  local draft = draft_parents[field]
  if draft ~= nil then
    return draft or nil
  end
  return parent_in(field, redis.call('HGET', TENANTS, field) or nil)
end

local function counts_below(field)
  if draft_counts[field] then
    return draft_counts[field]
  end
  local counts = {}
  for digits_of_one in string.gmatch(has_tenants and redis.call('HGET', TREE, field) or '', '%d+') do
    counts[#counts + 1] = tonumber(digits_of_one)
  end
  for distance = #counts + 1, LEVELS_BELOW do
    counts[distance] = 0
  end
  draft_counts[field] = counts
  return counts
end

-- Adds the tenant and all below it to the counts of each tenant above, or takes them away with the sign -1.
local function count_below(field, parent, sign)
  local own, at = counts_below(field), parent
  for distance = 1, LEVELS_BELOW do
    if not at then
      break
    end
    local counts = counts_below(at)
    for below = distance, LEVELS_BELOW do
      local moved = below == distance and 1 or own[below - distance]
      counts[below] = math.max(0, counts[below] + sign * moved)
    end
    at = parent_of(at)
  end
end

local function tree_problem(field, parent)
  local levels, at = 0, parent
  while at and levels <= LEVELS_BELOW + 1 do
    if at == field then
      return 'cycle'
    end
    levels = levels + 1
    at = parent_of(at)
  end
  local own, height = counts_below(field), 0
  for distance = 1, LEVELS_BELOW do
    if own[distance] > 0 then
      height = distance
    end
  end
  if levels + height > LEVELS_BELOW then
    return 'depth'
  end
  return counts_below(parent)[1] >= CHILDREN_MAX and 'crowd' or nil
end

-- The index of the first change that is refused, why, and how many tenants are below; nil: all changes together leave trees.
local function tree_refusal(changes)
  local moved = {}
  for index, change in ipairs(changes) do
    if change.kind == TENANT and change.changed then
      local before, parent = parent_of(change.field), parent_in(change.field, change.text)
      -- A tenant that stays closes no cycle: the one that moves is to blame.
      local is_moved = before ~= parent
      moved[#moved + 1] = { index = index, field = change.field, parent = is_moved and parent, is_deleted = change.text == '' }
      if is_moved then
        draft_parents[change.field] = false
        if before then
          count_below(change.field, before, -1)
        end
      end
    end
  end
  for _, move in ipairs(moved) do
    if move.parent then
      local problem = tree_problem(move.field, move.parent)
      if problem then
        return move.index, problem, 0
      end
      count_below(move.field, move.parent, 1)
      draft_parents[move.field] = move.parent
    end
  end
  for _, move in ipairs(moved) do
    local children = move.is_deleted and counts_below(move.field)[1] or 0
    if children > 0 then
      return move.index, 'children', children
    end
  end
  return nil
end

local function write_tree()
  if not has_tenants then
    redis.call('DEL', TREE)
  end
  for field, counts in pairs(draft_counts) do
    if math.max(unpack(counts)) == 0 then
      redis.call('HDEL', TREE, field)
    else
      redis.call('HSET', TREE, field, table.concat(counts, ' '))
    end
  end
end
