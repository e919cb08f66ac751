// jsdom with the `fetch` of Node.js, as many apps add it.
const { TestEnvironment } = require('jest-environment-jsdom')

module.exports = class extends TestEnvironment {
  constructor(...parameters) {
    super(...parameters)
    this.global.fetch = fetch
  }
}
