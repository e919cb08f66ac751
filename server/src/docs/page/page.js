// Neither a module nor deferred: it runs before the page is drawn, since a dark page would flash white.
{
  const dark = matchMedia('(prefers-color-scheme: dark)')
  /** Sets the class by which Swagger UI's own styles, and those of the page, are dark. */
  const applyColorScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
  applyColorScheme()
  dark.addEventListener('change', applyColorScheme)
}

/**
 * Sends calls to the origin of the page, not to the base URL that the document names: the page may be opened at
 * another, and its Content-Security-Policy allows no other.
 */
const sameServer = {
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (document) => update({ ...document, servers: [{ url: address }] }),
      },
    },
  },
}

/** Without the trailing slash: the paths of operations begin with one. */
const address = new URL('.', location.href).href.replace(/\/$/, '')

/**
 * Sends only the token, ours or a JSON Web Token, of what was pasted into the dialog: with its scheme, between quotes,
 * or in the lines of a terminal. Swagger UI would send `Bearer Bearer pst_...`.
 */
function sendToken(request) {
  const pasted = String(request.headers.Authorization).replace(/\bbearer\s|\s/gi, '')
  const [token] = /pst_\w+|[\w-]+\.[\w-]+\.[\w-]+/.exec(pasted) ?? []
  if (token) request.headers.Authorization = `Bearer ${token}`
  return request
}

/** Shows integers of a response as they arrived: Swagger UI parses JSON, which rounds them above 2^53. */
const exactResponses = {
  wrapComponents: {
    responseBody:
      (Original, { React }) =>
      (properties) => {
        const { content } = properties
        if (typeof content !== 'string' || !/\d{16}/.test(content)) return React.createElement(Original, properties)
        // Text is not parsed again.
        return React.createElement(Original, {
          ...properties,
          content: formatExactly(content),
          contentType: 'text/plain',
        })
      },
  },
}

/** Indents JSON; returns it as it is where the browser lacks `JSON.rawJSON`, or if it is not JSON. */
function formatExactly(text) {
  const keepNumber = (_name, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value)
  try {
    return JSON.stringify(JSON.parse(text, keepNumber), null, 2)
  } catch {
    return text
  }
}

// Swagger UI is loaded by then.
addEventListener('DOMContentLoaded', () => {
  globalThis.SwaggerUIBundle({
    url: 'openapi.json',
    dom_id: '#swagger-ui',
    plugins: [sameServer, exactResponses],
    requestInterceptor: sendToken,
    deepLinking: true,
    displayOperationId: true,
    tryItOutEnabled: true,
    // Without this, the page would send the URL of the document to validator.swagger.io.
    validatorUrl: null,
  })
})
