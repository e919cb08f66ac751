import { accessSync, constants } from 'node:fs'
import path from 'node:path'

/** What compiles SQLite: the programs of which one is enough, the variable that names another, and the packages. */
const tools = [
  { programs: ['python3', 'python'], variable: 'PYTHON', debian: 'python3', fedora: 'python3' },
  { programs: ['make', 'gmake'], variable: 'MAKE', debian: 'make', fedora: 'make' },
  { programs: ['g++', 'c++', 'clang++'], variable: 'CXX', debian: 'g++', fedora: 'gcc-c++' },
]

/** Says which build tools are missing and how to install them; undefined if all are there. */
export function explainMissingTools() {
  if (process.platform === 'win32') return undefined
  const missing = tools.filter(({ programs, variable }) => !process.env[variable] && !programs.some(isInstalled))
  if (missing.length === 0) return undefined
  const names = missing.map(({ programs }) => programs[0]).join(', ')
  const list = (distribution) => missing.map((tool) => tool[distribution]).join(' ')
  const linux =
    `apt-get install ${list('debian')} (Debian, Ubuntu), dnf install ${list('fedora')} (Fedora), ` +
    `apk add ${list('debian')} (Alpine)`
  const command = process.platform === 'darwin' ? 'xcode-select --install' : linux
  return `SQLite cannot be compiled without ${names}. Install: ${command}`
}

function isInstalled(program) {
  return (process.env['PATH'] ?? '').split(path.delimiter).some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
