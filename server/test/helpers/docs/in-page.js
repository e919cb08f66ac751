// Functions that run in the page, see measure-page.ts.

/** Finds visible texts by the contrast of WCAG 2.2 to the nearest background. */
function findFaintTexts(min) {
  const faint = []
  for (const { data, parentElement } of textsOf(document.body)) {
    if (data.trim() === '' || !parentElement.checkVisibility()) continue
    const { color } = getComputedStyle(parentElement)
    const [light, dark] = [luminance(channels(color)), luminance(behind(parentElement))].sort((a, b) => b - a)
    const contrast = (light + 0.05) / (dark + 0.05)
    if (contrast < min) faint.push({ text: data.trim(), color, contrast })
  }
  return faint
}

function behind(element) {
  if (!element) return [255, 255, 255]
  const [red, green, blue, alpha = 1] = channels(getComputedStyle(element).backgroundColor)
  if (alpha === 1) return [red, green, blue]
  const below = behind(element.parentElement)
  return [red, green, blue].map((channel, index) => channel * alpha + below[index] * (1 - alpha))
}

function channels(color) {
  return color.match(/[\d.]+/g).map(Number)
}

function luminance(color) {
  const [red, green, blue] = color.map((channel) => {
    const part = channel / 255
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Finds elements that reach over the edge of the responses, the operation or the window that they are in. */
function findWideElements() {
  return [...document.querySelectorAll('body *')]
    .filter((element) => element.checkVisibility() && !isScrolled(element.parentElement))
    .filter((element) => {
      const container = element.parentElement.closest('.responses-inner, .opblock') ?? document.documentElement
      const edge = container.getBoundingClientRect().right - Number.parseFloat(getComputedStyle(container).paddingRight)
      return element.getBoundingClientRect().right > edge + 1
    })
    .map((element) => `${element.tagName} ${element.className}`)
}

function isScrolled(element) {
  if (!element) return false
  return ['auto', 'scroll'].includes(getComputedStyle(element).overflowX) || isScrolled(element.parentElement)
}

/** Returns the text of an element in the lines that it is shown in. */
function linesOf(selector) {
  const lines = new Map()
  const range = document.createRange()
  for (const text of textsOf(document.querySelector(selector))) {
    for (const { index, 0: word } of text.data.matchAll(/\S+/g)) {
      range.setStart(text, index)
      range.setEnd(text, index + word.length)
      // A word that is broken has a rectangle in each line.
      for (const { top } of range.getClientRects()) lines.set(top, [...(lines.get(top) ?? []), word])
    }
  }
  return [...lines.values()].map((words) => words.join(' '))
}

/** Returns what is copied when an element is selected. */
function copyOf(selector) {
  getSelection().selectAllChildren(document.querySelector(selector))
  return getSelection().toString()
}

function textsOf(node) {
  return node.nodeType === Node.TEXT_NODE ? [node] : [...node.childNodes].flatMap(textsOf)
}

/** Returns the background of the first element. */
function backgroundOf(selector) {
  return getComputedStyle(document.querySelector(selector)).backgroundColor
}

globalThis.inPage = { backgroundOf, copyOf, findFaintTexts, findWideElements, linesOf }
