import { exactNumbers } from './exact-numbers.js'
import { networkFailure } from './network-failure.js'

/** Without the trailing slash, since the paths of operations begin with one. */
const address = new URL('.', location.href).href.replace(/\/$/, '')

/**
 * Calls go to where the page came from, whatever base address the document names: the page may be opened at another,
 * and its Content-Security-Policy lets it call nothing else.
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

globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  plugins: [sameServer, exactNumbers, networkFailure],
  deepLinking: true,
  displayOperationId: true,
  tryItOutEnabled: true,
  // It would send the address of the document to validator.swagger.io.
  validatorUrl: null,
})
