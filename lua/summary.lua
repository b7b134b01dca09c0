--[[
Keeps a text of one process for all others: its top keys, or reads a text.

KEYS[1]   the text
ARGV[1]   absent: the text is read
ARGV[1]   the new text
ARGV[2]   for how many milliseconds it is kept

Reply     what was read, or nil; "OK" for a new text
]]
if ARGV[1] then
  return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return redis.call('GET', KEYS[1])
