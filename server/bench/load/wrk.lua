-- Makes the requests of wrk (https://github.com/wg/wrk), and prints its result as JSON.

local kind = os.getenv("LOAD_KIND")
local id = tonumber(os.getenv("LOAD_FIRST_ID"))
local headers = {}

local lists = {}

function init()
  for token in os.getenv("LOAD_TOKENS"):gmatch("%S+") do
    local own = { Authorization = "Bearer " .. token, ["Content-Type"] = "application/json" }
    table.insert(headers, own)
    for path in os.getenv("LOAD_PATHS"):gmatch("%S+") do table.insert(lists, wrk.format("GET", path, own)) end
  end
end

function request()
  id = id + 1
  if kind == "list" then return lists[id % #lists + 1] end
  local body = string.format('{"id":%d,"name":"Monstera deliciosa %d","tag":"aroid"}', id, id)
  return wrk.format("POST", "/plants", headers[id % #headers + 1], body)
end

function done(summary, latency)
  local errors = summary.errors
  local failures = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format('\n{"requests":%d,"seconds":%.6f,"failures":%d,"p50":%.3f,"p99":%.3f}\n',
    summary.requests, summary.duration / 1e6, failures, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
