// Not a module, which would run after the page is drawn: a dark page would flash white.
{
  const dark = matchMedia('(prefers-color-scheme: dark)')
  /** Sets the class by which Swagger UI's own styles, and those of the page, are dark. */
  const applyColorScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
  applyColorScheme()
  dark.addEventListener('change', applyColorScheme)
}
