import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** How an upload went. */
export type UploadResult = 'done' | 'missing' | 'failed' | 'late';

const SHOWN_CHARACTERS = 1_000;

/** The `wandb` program at work on a run's folder. It is ended with this process. */
export class Upload {
  readonly #child: ChildProcess;
  readonly #ended: Promise<UploadResult>;
  #output = '';

  /** @param args Of the program. */
  constructor(program: string, args: readonly string[]) {
    this.#child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const collect = (chunk: Buffer) => (this.#output += chunk.toString());
    this.#child.stdout!.on('data', collect);
    this.#child.stderr!.on('data', collect);
    process.once('exit', this.#kill);
    this.#ended = this.#wait();
    // A training that is done doesn't wait for it, unless somebody calls `ended`.
    this.#child.unref();
    for (const stream of [this.#child.stdout!, this.#child.stderr!])
      (stream as unknown as { unref(): void }).unref();
  }

  /** What it said last. */
  get output(): string {
    return this.#output.slice(-SHOWN_CHARACTERS).trim();
  }

  /** Waits for its end, no longer than `limitMs`: then it is killed, since against a server that is gone it tries for days. */
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

  /** With what it started. */
  readonly #kill = (): void => {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  };
}
