--[[
Bounds of numbers, and short names of library functions. Every other include may use them.
]]
local EXACT_MAX = 9007199254740991
local DURATION_US_MAX = 100 * 365 * 86400 * 1000000
-- A function of a library is looked up in two tables at each use, a local in none.
local max, min, ceil = math.max, math.min, math.ceil
local match, format, to_number = string.match, string.format, tonumber
local pack_bytes, unpack_bytes = struct.pack, struct.unpack

-- The number as a reply has it. node-redis adds 48 to a number on the way to it, which is exact no further than this: larger numbers are texts.
local function in_reply(number)
  if number > 9007199254740944 or number < -9007199254740944 then
    return format('%d', number)
  end
  return number
end
