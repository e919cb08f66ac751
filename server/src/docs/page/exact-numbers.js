/**
 * Shows JSON responses with exact numbers. Swagger UI parses them to indent them, which turns
 * 9007199254740993 into ...992 (https://github.com/swagger-api/swagger-ui/issues/2030).
 */
export function exactNumbers({ React, getComponent }) {
  const ResponseBody = (Original) => (props) => {
    if (typeof props.content !== 'string' || !/json/i.test(props.contentType)) {
      return React.createElement(Original, props)
    }
    const code = { language: 'json', canCopy: true, downloadable: true, fileName: 'response.json' }
    return React.createElement(
      'div',
      null,
      React.createElement('h5', null, 'Response body'),
      React.createElement(getComponent('HighlightCode', true), code, indentJson(props.content)),
    )
  }
  return { wrapComponents: { responseBody: ResponseBody } }
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g

/** Indents JSON text as `JSON.stringify(value, null, 2)` does, token by token. */
function indentJson(text) {
  const tokens = text.match(TOKEN) ?? []
  let depth = 0
  let indented = ''
  for (const [index, token] of tokens.entries()) {
    const isEmpty = (token === '[' || token === '{') && ']}'.includes(tokens[index + 1] ?? ' ')
    const endsEmpty = (token === ']' || token === '}') && '[{'.includes(tokens[index - 1] ?? ' ')
    if (isEmpty || endsEmpty) indented += token
    else if (token === '[' || token === '{') indented += token + newLine(++depth)
    else if (token === ']' || token === '}') indented += newLine(--depth) + token
    else if (token === ',') indented += token + newLine(depth)
    else indented += token === ':' ? ': ' : token
  }
  return indented
}

function newLine(depth) {
  return `\n${'  '.repeat(Math.max(depth, 0))}`
}
