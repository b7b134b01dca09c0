--[[ Asks Weir's /check about a request, and answers the client if Weir denies. For LuaHookAccessChecker of mod_lua. ]]

local http = require 'socket.http'
local ltn12 = require 'ltn12'

local CHECK = 'http://127.0.0.1:8080/check'
-- In seconds; for each step: connecting, sending, receiving.
http.TIMEOUT = 0.1
-- Whether a request passes without an answer of Weir.
local IS_OPEN = true

-- Headers of one hop, and those that Apache writes itself.
local NOT_PASSED_ON = {
  ['connection'] = true, ['keep-alive'] = true, ['transfer-encoding'] = true, ['content-length'] = true, ['content-type'] = true,
  ['date'] = true,
}

local function ask(r)
  local forwarded = r.headers_in['X-Forwarded-For']
  local body = {}
  local _, status, headers = http.request({
    url = CHECK,
    sink = ltn12.sink.table(body),
    redirect = false,
    -- A fresh list: nothing else that the client wrote reaches Weir.
    headers = {
      ['x-forwarded-method'] = r.method,
      ['x-forwarded-uri'] = r.unparsed_uri,
      ['x-forwarded-host'] = r.hostname,
      -- Weir takes the last address. Behind a load balancer: CHECK_TRUSTED_HOPS=1.
      ['x-forwarded-for'] = forwarded and (forwarded .. ', ' .. r.useragent_ip) or r.useragent_ip,
      ['traceparent'] = r.headers_in['traceparent'],
    },
  })
  return status, headers or {}, table.concat(body)
end

function check(r)
  -- Not for requests that Apache makes of its own, such as those for an error page.
  if not r.is_initial_req then return apache2.DECLINED end
  local status, headers, body = ask(r)
  r.subprocess_env['WEIR_STATUS'] = type(status) == 'number' and tostring(status) or '0'
  if status ~= 200 and (type(status) ~= 'number' or status >= 500) then
    return IS_OPEN and apache2.DECLINED or 503
  end
  if status == 200 then
    -- For the responses that pass: weir.conf makes headers of them.
    r.subprocess_env['WEIR_POLICY'] = headers['ratelimit-policy'] or ''
    r.subprocess_env['WEIR_STATE'] = headers['ratelimit'] or ''
    return apache2.DECLINED
  end
  for name, value in pairs(headers) do
    if not NOT_PASSED_ON[name] then r.err_headers_out[name] = value end
  end
  r.status = status
  r.content_type = headers['content-type'] or 'text/plain'
  r:write(body)
  return apache2.DONE
end
