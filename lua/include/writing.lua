--[[
What every way of writing buckets has in common: how long they are kept, and what is said if Redis refuses some of them.
]]
local EXPIRY_MARGIN_US = 2000000
--[[
What refuses the first write of a run fails the run, and nothing has changed: no memory is left, no disk, no replica. Redis asks that of a
run's first write alone, so what refuses a later one can only be that not all of the commands are allowed. Then some buckets are written
and others not; this is the error that says so.
]]
local WRITTEN_IN_PART = 'PARTLY written: Redis refused a later write of the run'
