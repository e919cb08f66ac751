// Runs in the page, see page.test.ts.

/** Finds visible texts by the contrast of WCAG 2.2 to the nearest background. */
function findFaintTexts(min) {
  const faint = []
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode
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

globalThis.findFaintTexts = findFaintTexts
