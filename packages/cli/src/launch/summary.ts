import { SAVED_EXIT_CODE } from '@acc/contract';
import type { Failure } from './root-cause.js';
import { failedByTopLevelAwait, TOP_LEVEL_AWAIT_HELP } from './top-level-await.js';

/** The next step after SIGKILL. */
export const OUT_OF_MEMORY_HELP = 'Linux may have killed it because memory ran out; see: dmesg | tail';

/** The message for stderr about the rank that ended the job. */
export function describeFailure(
  { exit, rank: { stderrTail, logPath } }: Failure,
  { worldSize, script }: { readonly worldSize: number; readonly script: string },
): string {
  const { rank, pid, exitCode, signal } = exit;
  const who = `acc: rank ${rank} of ${worldSize} (pid ${pid})`;
  if (exitCode === SAVED_EXIT_CODE)
    return `${who} was asked to end, and saved a checkpoint (exit code ${exitCode}).\n`;
  const how = signal
    ? `was killed by ${signal} (exit code ${exitCode})`
    : `failed with exit code ${exitCode}`;
  const others = worldSize > 1 ? ' The other ranks were ended.' : '';
  const lines = [`${who} ${how}.${others}`];
  const error = uncaughtError(stderrTail);
  const shown = error ?? stderrTail;
  if (logPath) lines.push(`  all of its stderr: ${logPath}`);
  if (shown.length > 0) {
    lines.push(error ? '  its error:' : '  the end of its stderr:');
    lines.push(...shown.map((line) => `    ${line}`.trimEnd()));
  }
  if (signal === 'SIGKILL') {
    lines.push(`→ ${OUT_OF_MEMORY_HELP}`);
  }
  if (exitCode === 1 && failedByTopLevelAwait(script, stderrTail)) lines.push(TOP_LEVEL_AWAIT_HELP);
  return `${lines.join('\n')}\n`;
}

/**
 * The lines of an error that nobody caught, as Node.js prints it: without the line of source above it,
 * which ends with a caret, and the version of Node.js below. Undefined if stderr does not end so.
 */
export function uncaughtError(stderr: readonly string[]): string[] | undefined {
  const last = stderr.findLastIndex((line) => /^Node\.js v\d/.test(line));
  const caret = stderr.slice(0, Math.max(last, 0)).findLastIndex((line) => /^\s*\^+\s*$/.test(line));
  if (caret < 0 || stderr.slice(last + 1).some((line) => line.trim() !== '')) return undefined;
  const lines = stderr.slice(caret + 1, last);
  const isText = (line: string) => line.trim() !== '';
  return lines.slice(lines.findIndex(isText), lines.findLastIndex(isText) + 1);
}
