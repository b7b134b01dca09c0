--[[
Limits, as the arguments of take.lua, adjust.lua and reserve.lua name them. is_outside is the twin of isOutside in src/domain/algorithm/window.ts.
]]
-- Whether the limit names calendar windows and none of them holds that time.
local function is_outside(limit, at_us)
  local edges_us = limit.edges_us
  return edges_us ~= nil and (at_us < edges_us[1] or at_us >= edges_us[#edges_us])
end

-- The limit that the arguments from `at` on name (window_us, requests, capacity, number of edges, edges), and where they end.
local function limit_at(at)
  local limit = { window_us = tonumber(ARGV[at]), requests = tonumber(ARGV[at + 1]), capacity = tonumber(ARGV[at + 2]) }
  local edge_count = tonumber(ARGV[at + 3])
  if edge_count > 0 then
    limit.edges_us = {}
    for i = 1, edge_count do
      limit.edges_us[i] = tonumber(ARGV[at + 3 + i])
    end
  end
  return limit, at + 4 + edge_count
end

-- The id of a slot, as buckets hold it, of 16 hexadecimal digits.
local function slot_id_at(at)
  local digits = ARGV[at]
  return struct.pack('>I4I4', tonumber(string.sub(digits, 1, 8), 16), tonumber(string.sub(digits, 9), 16))
end
