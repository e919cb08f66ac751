/** What people copy along with a token: the header's name, its scheme, quotes, spaces and line breaks. */
const AROUND = /^authorization:|^bearer|["'`\s]/gi

/** Takes the token out of what is pasted into the dialog. Swagger UI would send `Bearer Bearer pst_...`. */
export function pastedToken() {
  const clean = ([name, credentials]) => [name, { ...credentials, value: extractToken(credentials.value) }]
  const authorize = (original) => (credentials) => original(Object.fromEntries(Object.entries(credentials).map(clean)))
  return { statePlugins: { auth: { wrapActions: { authorize } } } }
}

function extractToken(text) {
  if (typeof text !== 'string') return text
  let token = text
  // Each removal may uncover another: a quote, the header's name, then the scheme.
  for (let before; before !== token; ) {
    before = token
    token = token.replace(AROUND, '')
  }
  return token
}
