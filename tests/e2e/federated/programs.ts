import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { scriptArguments } from '@acc/transpile';

export interface Program {
  /** The first line from now on that matches, or an error with the output if the program ends first. */
  line(pattern: RegExp): Promise<RegExpExecArray>;
  kill(signal: NodeJS.Signals): void;
  /** Resolves with its exit code, or null after a signal. */
  readonly ended: Promise<number | null>;
  readonly output: () => string;
}

/** Starts a program beside this file, which ends with the test at the latest. */
export async function startProgram(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Program> {
  const script = await scriptArguments(fileURLToPath(new URL(name, import.meta.url)));
  const child = spawn(process.execPath, [...script, ...args], {
    env: { ...process.env, OMP_NUM_THREADS: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  let read = 0;
  let hasEnded = false;
  let wake = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      wake();
    });
  }
  const ended = once(child, 'close').then(([code]) => {
    hasEnded = true;
    wake();
    return code as number | null;
  });
  return {
    ended,
    output: () => output,
    kill: (signal) => void child.kill(signal),
    async line(pattern) {
      for (;;) {
        const whole = output.slice(0, output.lastIndexOf('\n') + 1);
        const found = new RegExp(pattern.source, 'm').exec(whole.slice(read));
        if (found) {
          read += found.index + found[0].length;
          return found;
        }
        if (hasEnded) throw new Error(`the program ended without a line like ${pattern.source}:\n${output}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}
