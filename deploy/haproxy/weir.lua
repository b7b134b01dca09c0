--[[ Asks Weir's /check about a request, with HAProxy's own HTTP client, and answers the client if Weir denies. ]]

local CHECK = 'http://127.0.0.1:8080/check'
-- HAProxy 2.6 asks up to four times. Newer versions have `httpclient.retries` in `global` for that.
local TIMEOUT_MS = 50
-- Whether a request passes without an answer of Weir.
local IS_OPEN = true

-- Headers of one hop, and those that HAProxy writes itself.
local NOT_PASSED_ON = {
  ['connection'] = true, ['keep-alive'] = true, ['transfer-encoding'] = true, ['content-length'] = true, ['date'] = true,
}

local function all_of(headers, name)
  local values, found = {}, headers[name]
  if found == nil then return nil end
  for index = 0, #found do
    if found[index] ~= nil then values[#values + 1] = found[index] end
  end
  return { table.concat(values, ', ') }
end

local function first_of(headers, name)
  local values = headers and headers[name]
  return values and (values[0] or values[1])
end

local function reply_of(txn, response)
  local reply = txn:reply({ status = response.status, reason = response.reason, body = response.body })
  for name, values in pairs(response.headers or {}) do
    if not NOT_PASSED_ON[name:lower()] then
      for _, value in pairs(values) do reply:add_header(name, value) end
    end
  end
  return reply
end

core.register_action('weir_check', { 'http-req' }, function(txn)
  local headers = txn.http:req_get_headers()
  -- A fresh list: nothing else that the client wrote reaches Weir.
  local response = core.httpclient():get({
    url = CHECK,
    timeout = TIMEOUT_MS,
    headers = {
      ['x-forwarded-method'] = { txn.f:method() },
      ['x-forwarded-uri'] = { txn.f:pathq() },
      ['x-forwarded-host'] = { first_of(headers, 'host') or '' },
      ['x-forwarded-for'] = all_of(headers, 'x-forwarded-for'),
      ['traceparent'] = all_of(headers, 'traceparent'),
    },
  })
  local status = response and response.status or 0
  txn:set_var('txn.weir_status', status)
  if status == 200 then
    txn:set_var('txn.weir_policy', first_of(response.headers, 'ratelimit-policy'))
    txn:set_var('txn.weir_state', first_of(response.headers, 'ratelimit'))
  elseif status >= 400 and status < 500 then
    txn:done(reply_of(txn, response))
  elseif not IS_OPEN then
    txn:done(txn:reply({ status = 503, body = 'the rate limit service does not answer\n' }))
  end
end)
