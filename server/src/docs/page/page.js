/**
 * Sends calls to the origin of the page, not to the base URL that the document names: the page may be opened at another, and its
 * Content-Security-Policy allows no other.
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
 * Shows JSON responses with exact numbers. Swagger UI parses them to indent them, which turns
 * 9007199254740993 into ...992 (https://github.com/swagger-api/swagger-ui/issues/2030).
 */
function exactNumbers({ React, getComponent }) {
  const code = { language: 'json', canCopy: true, downloadable: true, fileName: 'response.json' }
  const ResponseBody = (Original) => (props) => {
    if (typeof props.content !== 'string' || !/json/i.test(props.contentType)) {
      return React.createElement(Original, props)
    }
    const title = React.createElement('h5', null, 'Response body')
    const body = React.createElement(getComponent('HighlightCode', true), code, indentJson(props.content))
    return React.createElement('div', null, title, body)
  }
  return { wrapComponents: { responseBody: ResponseBody } }
}

/** Indents JSON; text that is none, and all text in a browser without `JSON.rawJSON`, stays as it is. */
function indentJson(text) {
  const keepNumber = (_name, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value)
  try {
    return JSON.stringify(JSON.parse(text, keepNumber), null, 2)
  } catch {
    return text
  }
}

/**
 * Sends only the token, ours or a JSON Web Token, of what was pasted into the dialog: with its scheme, between quotes, or in
 * the lines of a terminal. Swagger UI would send `Bearer Bearer pst_...`.
 */
function sendToken(request) {
  const pasted = String(request.headers.Authorization).replace(/\bbearer\s|\s/gi, '')
  const [token] = /pst_\w+|[\w-]+\.[\w-]+\.[\w-]+/.exec(pasted) ?? []
  if (token) request.headers.Authorization = `Bearer ${token}`
  return request
}

globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  plugins: [sameServer, exactNumbers],
  requestInterceptor: sendToken,
  deepLinking: true,
  displayOperationId: true,
  tryItOutEnabled: true,
  // Without this, the page would send the URL of the document to validator.swagger.io.
  validatorUrl: null,
})
