import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { installTools } from '../../../test/helpers/install-tools.ts'
import { installPackage, run } from '../../../test/helpers/packed-package.ts'
import { responds, startProgram } from '../../../test/helpers/start-program.ts'

const client = fileURLToPath(new URL('../..', import.meta.url))
const tools = path.join(client, 'test/recipes')

/** How long a recipe may take, in milliseconds: the first one installs the tools. */
export const RECIPE_TIMEOUT = 240_000

/** The compiler options of an app for browsers. */
export const compilerOptions = {
  target: 'es2023',
  lib: ['es2023', 'dom', 'dom.iterable'],
  module: 'esnext',
  moduleResolution: 'bundler',
  esModuleInterop: true,
  strict: true,
  skipLibCheck: true,
  noEmit: true,
}

/** An app outside the workspace, with the tools and the packed SDK installed and the files of recipes. */
export type RecipeApp = Awaited<ReturnType<typeof createRecipeApp>>

/** Creates an app with the files of sections of `docs/recipes.md`. */
export async function createRecipeApp(sections: string[]) {
  const { folder } = await installPackage(client, { parent: await installTools(tools) })
  const tsconfig = { compilerOptions: { ...compilerOptions, types: ['node'], jsx: 'react-jsx' } }
  for (const [name, text] of [['tsconfig.json', JSON.stringify(tsconfig)], ...(await readRecipes(sections))]) {
    const file = path.join(folder, String(name))
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, String(text))
  }
  const programOf = (script: string) => path.join(folder, '../node_modules', script)
  return {
    folder,
    /** Adds a file of `test/recipes/apps`: what the recipes leave to the reader. */
    add: (name: string) => cp(path.join(tools, 'apps', path.basename(name)), path.join(folder, name)),
    /** Runs a script of the tools and returns what it printed. Throws with the output if it fails. */
    run: (script: string, parameters: string[] = [], environment?: Record<string, string>) =>
      run(process.execPath, [programOf(script), ...parameters], folder, createEnvironment(environment)),
    /** Starts a program of the tools, and waits until it responds to requests at this port. */
    start: (script: string, parameters: string[], port: number, environment?: Record<string, string>) =>
      startProgram([process.execPath, programOf(script), ...parameters], responds(`http://127.0.0.1:${port}`), {
        cwd: folder,
        env: createEnvironment(environment),
      }),
  }
}

/** Reads the code blocks of sections that begin with the name of their file: the name and code of each. */
async function readRecipes(sections: string[]): Promise<string[][]> {
  const page = await readFile(path.join(client, 'docs/recipes.md'), 'utf8')
  const chosen = page.split(/^## /m).filter((section) => sections.some((title) => section.startsWith(`${title}\n`)))
  if (chosen.length !== sections.length) throw new Error(`docs/recipes.md lacks one of ${sections.join(', ')}`)
  return [...chosen.join('\n').matchAll(/^```\w+\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map((match) => match.slice(1))
}

/** Returns an environment without the settings of the test runner, such as NODE_ENV. */
function createEnvironment(environment: Record<string, string> = {}): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return { PATH, HOME, TMPDIR, CI: 'true', NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1', ...environment }
}
