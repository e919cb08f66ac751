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

/** Shows a response with long integers as text, as it arrived: Swagger UI parses JSON, which rounds them above 2^53. */
const exactResponses = {
  wrapComponents: {
    responseBody:
      (Original, { React }) =>
      (properties) => {
        const isLong = /\d{16}/.test(properties.content)
        return React.createElement(Original, { ...properties, ...(isLong && { contentType: 'text/plain' }) })
      },
  },
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
