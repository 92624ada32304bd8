import { spawn, type ChildProcess } from 'node:child_process';

/**
 * Its argument is the number of seconds between SIGTERM and SIGKILL.
 *
 * Kills the process groups of the ranks, and deletes a folder, if the launcher dies without ending them, for example by
 * SIGKILL. The launcher's end of a pipe then closes, whatever killed it. The watchdog is a shell,
 * because it starts in a millisecond and then only blocks in `read`. A rank cannot do this itself,
 * because it may be busy in a native call.
 */
const SCRIPT = `
groups= folder=
while read -r verb group; do
  case $verb in
    watch) groups="$groups $group" ;;
    own) folder=$group ;;
    forget) rest=; for g in $groups; do [ "$g" = "$group" ] || rest="$rest $g"; done; groups=$rest ;;
  esac
done
if [ -n "$folder" ] && mv -- "$folder" "$folder.old" 2>/dev/null; then rm -rf -- "$folder.old"; fi
send() { for g in $groups; do kill -s "$1" -- "-$g" 2>/dev/null && any=1; done; [ "$any" ]; }
any=; send TERM || exit 0
left=$1
while [ $left -gt 0 ]; do sleep 1; left=$((left - 1)); any=; send 0 || exit 0; done
send KILL
`;

export class Watchdog {
  readonly #shell: ChildProcess;

  /**
   * @param graceMs The time between SIGTERM and SIGKILL, in milliseconds.
   * @param onFailure Called if the shell cannot be started. The job continues without a watchdog.
   */
  constructor(graceMs: number, onFailure: (error: Error) => void) {
    // The watchdog has its own session, so that a signal to the launcher's process group does not
    // end it.
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'acc-watchdog', String(Math.ceil(graceMs / 1_000))], {
      detached: true,
      cwd: '/',
      // The PATH for `sleep`, independent of the user's PATH.
      env: { PATH: `${process.env.PATH ?? ''}:/usr/bin:/bin` },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#shell.on('error', onFailure);
    // If someone kills the watchdog, the job continues.
    this.#shell.stdin?.on('error', onFailure);
    this.#shell.unref();
  }

  watch(group: number): void {
    this.#shell.stdin?.write(`watch ${group}\n`);
  }

  /**
   * Deletes a folder when the launcher has ended. It is renamed first, so that nothing is added
   * meanwhile. Its path has no blanks at its ends.
   */
  own(folder: string): void {
    this.#shell.stdin?.write(`own ${folder}\n`);
  }

  /** Stops watching a group that has ended, because its number may be reused. */
  forget(group: number): void {
    this.#shell.stdin?.write(`forget ${group}\n`);
  }

  /** Ends the watchdog, which has nothing left to watch. */
  close(): void {
    this.#shell.stdin?.end();
  }
}
