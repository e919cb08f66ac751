import { exactNumbers } from './exact-numbers.js'
import { networkFailure } from './network-failure.js'
import { pastedToken } from './pasted-token.js'

/** Without the trailing slash: the paths of operations begin with one. */
const address = new URL('.', location.href).href.replace(/\/$/, '')

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

globalThis.SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  plugins: [sameServer, exactNumbers, networkFailure, pastedToken],
  deepLinking: true,
  displayOperationId: true,
  tryItOutEnabled: true,
  // Otherwise the page would send the URL of the document to validator.swagger.io.
  validatorUrl: null,
})
