// Finds words that are almost always a sign of unclear English, or of a second word for one idea. See "Language" in
// CONTRIBUTING.md.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

const ROOT = new URL('..', import.meta.url)
const READ = /\.(ts|js|mjs|cjs|md|prisma|sql|html|css|conf|service|socket|yaml|yml|example)$|\.ci\/run$/
const SKIP = /(^|\/)(generated|migrations|LICENSE)\b|pnpm-(lock|workspace)|^scripts\/check-language/

/** What is found, and what to write instead. */
const RULES = [
  [/\b[Nn]obody\b/, 'name who: "no client", "only the owner"'],
  [/\bwhoever\b/i, 'name who: "the client", "the operator"'],
  [/\bwhatever\b/i, '"any", "every"'],
  [/\blest\b/i, '"so that ... not"'],
  [/\bmend(s|ed|ing)?\b/i, '"fix"'],
  [/\bbeside\b/i, '"next to", "in addition to"'],
  [/\b(is|are|was) told\b|\btells? (of|that|whether)\b/i, '"reports", "says", "is notified"'],
  [/\bat once\b/i, '"immediately" or "at the same time"'],
  [/(?<!\bthere )\bis none\b/i, '"is not a ..."'],
  [/(?<!\bthere )\bis no (?!longer\b|more than\b)/i, '"is not a ..."'],
  [/\bwhere there (is|are)\b/i, '"if there is"'],
  [/\bunder way\b/i, '"in flight", "running"'],
  [/\bturn(s|ed|ing)? away\b/i, '"reject", "shed"'],
  // A connection is refused: the term of TCP.
  [/(?<!connection (was )?)\brefus(e|es|ed|ing|al|als)\b(?! connections?\b)/i, '"reject"'],
  [/\bcallers?\b/i, '"client"'],
  [/\banswer(s|ed|ing)?\b/i, '"response", "respond"'],
  [/\b(believ|remember)(e|s|es|ed|ing)?\b/i, '"trust", "cache"'],
  [/\bcannot be had\b|\bcannot bear\b/i, '"unavailable", "overloaded"'],
  [/\bgiven twice\b/i, '"duplicate"'],
  [/\b(tries again|another try|repetitions?)\b/i, '"retry"'],
  [/\bmaximum[A-Z]|\bMAXIMUM_|\bminimum[A-Z]|\bMINIMUM_/, 'max, MAX_, min, MIN_'],
]

let found = 0
for (const file of listFiles().filter(
  (name) => READ.test(name) && !SKIP.test(name) && existsSync(new URL(name, ROOT)),
)) {
  for (const [index, line] of readFileSync(new URL(file, ROOT), 'utf8').split('\n').entries()) {
    for (const [pattern, instead] of RULES) {
      const word = pattern.exec(line)?.[0]
      if (word === undefined) continue
      console.error(`${file}:${index + 1}: "${word}": write ${instead}`)
      found++
    }
  }
}
if (found > 0) {
  console.error(`\n${found} words to replace: see "Language" in CONTRIBUTING.md.`)
  process.exitCode = 1
}

function listFiles() {
  try {
    return execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')
  } catch {
    console.log('The language is not checked: this is not a git checkout.')
    return []
  }
}
