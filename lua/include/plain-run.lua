--[[
Reads the next run of plain groups, as the head of take.lua has it: how many groups, how many takes each has, where their arguments begin, and
for a fold how many times its group comes.
]]
local group_count, take_count, takes_at, times = 1, key_count, 2, 1
if not is_lone then
  group_count, take_count, takes_at = args[at] + 0, args[at + 1] + 0, at + 2
  at = nil
  if take_count == 0 then
    at = takes_at + 1
    takes_at = args[takes_at] + 1
    take_count = args[takes_at - 1] + 0
  end
  if group_count < 0 then
    group_count, times = 1, -group_count
  end
  -- Digits become numbers once for all groups of the run.
  local take_at = takes_at
  for _ = 1, take_count do
    local hits = args[take_at] + 0
    args[take_at], args[take_at + 1], args[take_at + 2] = hits, args[take_at + 1] + 0, args[take_at + 2] + 0
    if hits > 0 then
      args[take_at + 3] = args[take_at + 3] + 0
      take_at = take_at + 1
    end
    take_at = take_at + 3
  end
  at = at or take_at
end
