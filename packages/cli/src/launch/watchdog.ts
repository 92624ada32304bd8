import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Ends the ranks' process groups when the launcher dies without having done so, by SIGKILL for instance: its end
 * of the pipe closes then, whatever killed it. A shell, because it starts in a millisecond and is blocked in
 * `read` else; nothing inside a rank could do it, since a rank may be busy in a native call.
 */
const SCRIPT = `
groups=
while read -r verb group; do
  case $verb in
    watch) groups="$groups $group" ;;
    forget) rest=; for g in $groups; do [ "$g" = "$group" ] || rest="$rest $g"; done; groups=$rest ;;
  esac
done
send() { for g in $groups; do kill -s "$1" -- "-$g" 2>/dev/null && any=1; done; [ "$any" ]; }
any=; send TERM || exit 0
for second in 1 2 3; do sleep 1; any=; send 0 || exit 0; done
send KILL
`;

export class Watchdog {
  readonly #shell: ChildProcess;

  /** @param onFailure Called when there is no shell: the job goes on without a watchdog. */
  constructor(onFailure: (error: Error) => void) {
    // Its own session: what ends the launcher's process group must not end the watchdog.
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'acc-watchdog'], {
      detached: true,
      cwd: '/',
      // For `sleep`, whatever the user's PATH is.
      env: { PATH: `${process.env.PATH ?? ''}:/usr/bin:/bin` },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.on('error', onFailure);
    // A watchdog that someone killed is no reason to stop the job.
    this.#shell.stdin?.on('error', onFailure);
    this.#shell.unref();
  }

  watch(group: number): void {
    this.#shell.stdin?.write(`watch ${group}\n`);
  }

  /** The group has ended: its number may soon be another's. */
  forget(group: number): void {
    this.#shell.stdin?.write(`forget ${group}\n`);
  }

  /** With nothing left to watch, it ends. */
  close(): void {
    this.#shell.stdin?.end();
  }
}
