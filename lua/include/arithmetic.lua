--[[
Exact whole-number arithmetic on doubles. Twin of src/domain/algorithm/arithmetic.ts, which explains it; both must give the same
digits. % rounds a quotient down, which is exact of whole numbers up to EXACT_MAX (numbers.lua), and of no others.
]]
--- @needs "numbers"
-- a * b divided by m, exactly: quotient, remainder. Needs whole numbers up to EXACT_MAX, 0 <= a < m.
local function multiply_divide(a, b, m)
  local product = a * b
  if product <= EXACT_MAX then
    local remainder = product % m
    return (product - remainder) / m, remainder
  end
  local odd = b % 2
  local quotient, below = multiply_divide(a, (b - odd) / 2, m)
  quotient = quotient * 2
  -- The remainder less m, so that no step leaves the range from -m to m.
  below = below * 2 - m
  if below >= 0 then
    quotient, below = quotient + 1, below - m
  end
  below = below + odd * a
  if below >= 0 then
    return quotient + 1, below
  end
  return quotient, below + m
end

-- Hits that flow in over elapsed_us on top of rest: hits, rest (in parts of 1 / window_us hit).
local function refill(elapsed_us, rest, requests, window_us)
  local parts = elapsed_us * requests + rest
  if parts <= EXACT_MAX then
    local parts_left = parts % window_us
    return (parts - parts_left) / window_us, parts_left
  end
  local part_us = elapsed_us % window_us
  local windows = (elapsed_us - part_us) / window_us
  local hits, part_rest = multiply_divide(part_us, requests, window_us)
  local gathered = part_rest + rest
  local whole = windows * requests + hits
  if gathered >= window_us then
    return whole + 1, gathered - window_us
  end
  return whole, gathered
end

-- The least time after which refill gives at least these hits, in microseconds.
local function time_to_refill(hits, rest, requests, window_us)
  if hits <= 0 then
    return 0
  end
  if requests == 0 then
    return window_us
  end
  local parts = hits * window_us
  if parts > DURATION_US_MAX * requests then
    return DURATION_US_MAX
  end
  if parts <= EXACT_MAX then
    return ceil((parts - rest) / requests)
  end
  local part_us = window_us % requests
  local whole_us = (window_us - part_us) / requests
  local part, remainder = multiply_divide(part_us, hits, requests)
  return min(DURATION_US_MAX, hits * whole_us + part + ceil((remainder - rest) / requests))
end
