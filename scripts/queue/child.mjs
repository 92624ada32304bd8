import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { root } from '../process.mjs';

/** A program that was asked to end gets this long before it is killed. */
const GRACE_MS = 5000;
/** Output that a program wrote before its end arrives within this time. */
const LAST_OUTPUT_MS = 1000;

/**
 * Runs a command in the repository's root and keeps its output. It has its own process group, so
 * that an aborted signal also ends the processes that it started.
 *
 * @param {{signal: AbortSignal, env?: object, onOutput?: (text: string) => void}} options
 * @returns {Promise<{code: number, output: string}>} code: 128 + the signal's number if a signal
 * ended it; 127 if the command does not exist.
 */
export function runCommand(command, args, { signal, env = {}, onOutput }) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const parts = [];
    const keep = (text) => {
      parts.push(text);
      onOutput?.(text);
    };
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', keep);
    let killing;
    const onAbort = () => {
      signalGroup(child.pid, 'SIGTERM');
      killing = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const end = (code) => {
      clearTimeout(killing);
      signal.removeEventListener('abort', onAbort);
      if (signal.aborted) signalGroup(child.pid, 'SIGKILL');
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ code, output: parts.join('') });
    };
    child.once('error', (error) => {
      parts.push(`${command}: ${error.message}\n`);
      end(127);
    });
    // A process that outlives the command may hold the pipes open, and then they do not close.
    child.once('exit', (code, name) => {
      const result = code ?? 128 + constants.signals[name];
      const late = setTimeout(end, LAST_OUTPUT_MS, result);
      child.once('close', () => {
        clearTimeout(late);
        end(result);
      });
    });
  });
}

function signalGroup(pid, name) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}
