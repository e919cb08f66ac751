/** The messages of Chromium, Firefox and Safari if there is no response. */
const NO_RESPONSE = /Failed to fetch|NetworkError|Load failed/

/** Says what to do if there is no response. Swagger UI suggests CORS, which cannot be the reason here. */
export function networkFailure() {
  const setResponse = (set) => (path, method, response) => {
    if (!response.error || response.err.response || !NO_RESPONSE.test(response.err.message)) {
      return set(path, method, response)
    }
    const message = `No response from ${location.origin}. Check that the server is running and reachable, then press Execute again.`
    return set(path, method, { error: true, err: { name: 'Network failure', message } })
  }
  return { statePlugins: { spec: { wrapActions: { setResponse } } } }
}
