import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Kills the process groups of `children` when this process dies without having ended them, by SIGKILL for instance: a shell
 * waits for the end of a pipe that only this process holds. Nothing inside a child could do it, which may be in a native call.
 *
 * @returns Stops the watch, when they have ended.
 */
export function endWithThisProcess(children: readonly ChildProcess[]): () => void {
  const groups = children.flatMap(({ pid }) => (pid === undefined ? [] : [String(-pid)]));
  // Of a session of its own: what ends this process's group must not end it, too.
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
