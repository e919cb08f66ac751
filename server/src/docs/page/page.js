/**
 * Sends calls to the origin of the page, not to the base URL that the document names: the page may be opened at
 * another, and its Content-Security-Policy allows no other. Swagger UI shows no samples of code: they become a part of
 * the descriptions.
 */
const ownDocument = {
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec: (update) => (document) => {
          for (const operation of Object.values(document.paths).flatMap(Object.values)) {
            for (const { lang, source } of operation['x-codeSamples'])
              operation.description += `\n\n${lang}:\n\`\`\`\n${source}\n\`\`\``
          }
          update({ ...document, servers: [{ url: address }] })
        },
      },
    },
  },
}

/** Without the trailing slash: the paths of operations begin with one. */
const address = new URL('.', location.href).href.replace(/\/$/, '')

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

globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  plugins: [ownDocument, exactResponses],
  deepLinking: true,
  displayOperationId: true,
  tryItOutEnabled: true,
  // Without this, the page would send the URL of the document to validator.swagger.io.
  validatorUrl: null,
})
