import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Report, ThreadData, Work } from './read-damaged.js';

/** A read that takes longer has no end. Machines of tests may be slow. */
const MOST_MS = 60_000;
/** The most memory that all reads together may take. The largest seeds have some kilobytes. */
const MOST_BYTES = 1.5 * 2 ** 30;
const LOOK_MS = 20;

/** The most that a read may take. */
interface Limits {
  readonly ms: number;
  readonly bytes: number;
}

/**
 * Reads damaged files in a thread of its own, which is ended if a read does not end or takes much
 * memory. The next work then starts another thread.
 */
export class Reader implements AsyncDisposable {
  readonly #progress = new Int32Array(new SharedArrayBuffer(8));
  #thread: Worker | undefined;
  #folder: string | undefined;
  readonly #most: Limits;

  constructor(most: Limits = { ms: MOST_MS, bytes: MOST_BYTES }) {
    this.#most = most;
  }

  async run(work: Work): Promise<Report> {
    const thread = (this.#thread ??= await this.#start());
    const stop = new AbortController();
    try {
      const report = reportOf(thread);
      this.#progress[0] = -1;
      thread.postMessage(work);
      return await Promise.race([report, this.#watched(stop.signal)]);
    } catch (error) {
      await this[Symbol.asyncDispose]();
      throw error;
    } finally {
      stop.abort();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#thread?.terminate();
    this.#thread = undefined;
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  async #start(): Promise<Worker> {
    this.#folder = await mkdtemp(join(tmpdir(), 'acc-mutations-'));
    const progress = this.#progress.buffer as SharedArrayBuffer;
    const workerData: ThreadData = { folder: this.#folder, progress };
    return new Worker(new URL('reader-thread.mjs', import.meta.url), { workerData });
  }

  /** Fails if the thread takes too much time or memory. */
  #watched(stop: AbortSignal): Promise<never> {
    const start = process.memoryUsage.rss();
    let [done, since] = [-1, performance.now()];
    return new Promise((_, reject) => {
      const timer = setInterval(() => {
        const [number, read] = this.#progress;
        if (read! + number! !== done) [done, since] = [read! + number!, performance.now()];
        const taken = process.memoryUsage.rss() - start;
        // The packages are loaded before the first one.
        const isStuck = performance.now() - since > (number! < 0 ? MOST_MS : this.#most.ms);
        if (!isStuck && taken < this.#most.bytes) return;
        const what = isStuck
          ? `took longer than ${this.#most.ms} ms`
          : `took ${(taken / 2 ** 20).toFixed()} MiB`;
        reject(new Error(`Mutation ${number} ${what}.`));
      }, LOOK_MS);
      stop.addEventListener('abort', () => clearInterval(timer));
    });
  }
}

function reportOf(thread: Worker): Promise<Report> {
  const { promise, resolve, reject } = withResolvers<Report>();
  const end = (code: number) => reject(new Error(`The thread ended with code ${code}.`));
  thread.once('message', resolve).once('error', reject).once('exit', end);
  return promise.finally(() => {
    thread.off('message', resolve).off('error', reject).off('exit', end);
  });
}

function withResolvers<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: Error) => void;
  const promise = new Promise<T>((onValue, onError) => ([resolve, reject] = [onValue, onError]));
  return { promise, resolve, reject };
}
