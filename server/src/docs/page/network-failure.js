/** What Chromium, Firefox and Safari say when no answer came. */
const NO_ANSWER = /Failed to fetch|NetworkError|Load failed/

/** Says what to do when no answer came. Swagger UI guesses at CORS, which cannot be it here. */
export function networkFailure() {
  const setResponse = (set) => (path, method, response) => {
    if (!response.error || response.err.response || !NO_ANSWER.test(response.err.message)) {
      return set(path, method, response)
    }
    const message = `No answer came from ${location.origin}. Check that the server runs and that this machine reaches it, then press Execute again.`
    return set(path, method, { error: true, err: { name: 'Network failure', message } })
  }
  return { statePlugins: { spec: { wrapActions: { setResponse } } } }
}
