import type { CommandResult } from '../../../../test/helpers/server/run-command.ts'
import { runCommandLine } from '../../../src/commands/command-line.ts'
import { openMemory } from '../telemetry/log-lines.ts'

/** Runs a command in this process, which takes a tenth of the time of a process. Only `serve` needs its own. */
export async function runInProcess(
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<CommandResult> {
  const [stdout, stderr] = [openMemory(), openMemory()]
  const exitCode = await runCommandLine(args, { environment, stdout: stdout.stream, stderr: stderr.stream })
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() }
}
