import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** The outcome of an upload. */
export type UploadResult = 'done' | 'missing' | 'failed' | 'late';

const SHOWN_CHARACTERS = 1_000;
/** Windows has no process groups, and gives each detached program a window of its own. */
const HAS_GROUPS = process.platform !== 'win32';

/** A running `wandb` program that uploads a folder. It is killed when this process exits. */
export class Upload {
  readonly #child: ChildProcess;
  readonly #ended: Promise<UploadResult>;
  #output = '';

  /** @param args The arguments of the program. */
  constructor(program: string, args: readonly string[]) {
    this.#child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: HAS_GROUPS,
      windowsHide: true,
    });
    const collect = (chunk: Buffer) => (this.#output += chunk.toString());
    this.#child.stdout!.on('data', collect);
    this.#child.stderr!.on('data', collect);
    process.once('exit', this.#kill);
    this.#ended = this.#wait();
    // The upload does not keep the process alive, unless `ended` is awaited.
    this.#child.unref();
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      (stream as unknown as { unref(): void }).unref();
  }

  /** The last part of the program's output. */
  get output(): string {
    return this.#output.slice(-SHOWN_CHARACTERS).trim();
  }

  /**
   * Waits until the program ends, for at most `limitMs` milliseconds. After that it kills the
   * program, which would retry an unreachable server for days.
   */
  async ended(limitMs: number): Promise<UploadResult> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<UploadResult>((resolve) => {
      timer = setTimeout(() => resolve('late'), limitMs);
    });
    const result = await Promise.race([this.#ended, late]);
    clearTimeout(timer);
    if (result === 'late') this.#kill();
    return result;
  }

  async #wait(): Promise<UploadResult> {
    try {
      const [code] = (await once(this.#child, 'close')) as [number | null];
      return code === 0 ? 'done' : 'failed';
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      this.#output += message;
      return code === 'ENOENT' ? 'missing' : 'failed';
    } finally {
      process.off('exit', this.#kill);
    }
  }

  /** Kills the program, and the processes that it started where the system has process groups. */
  readonly #kill = (): void => {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    if (!HAS_GROUPS) return void this.#child.kill();
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
}
