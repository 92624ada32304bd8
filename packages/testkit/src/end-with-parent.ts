import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Kills the process groups of `children` if this process dies without ending them, for example by
 * SIGKILL. A shell waits for the end of a pipe that only this process holds. A child could not do
 * this itself, because it may be in a native call.
 *
 * @returns A function that stops the watch. Call it when the children have ended.
 */
export function endWithThisProcess(children: readonly ChildProcess[]): () => void {
  const groups = children.flatMap(({ pid }) => (pid === undefined ? [] : [String(-pid)]));
  // The shell has its own session, so a signal to this process's group does not end it.
  const shell = spawn('/bin/sh', ['-c', 'read -r _ || kill -s KILL -- "$@"', 'acc-watchdog', ...groups], {
    detached: true,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  return () => void shell.stdin.end('ended\n');
}
