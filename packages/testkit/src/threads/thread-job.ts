import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { SourceMap, type SourceMapPayload } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MessageChannel, Worker, type MessagePort, type TransferListItem } from 'node:worker_threads';
import { bundleModule } from '@acc/transpile';
import type { ThreadReport, ThreadRun } from './serve-thread.js';
import { SharedState } from './shared-state.js';

const BUNDLE = 'threads.mjs';

/** Threads that run one module. */
export class ThreadJob {
  readonly module: string;
  readonly #folder: string;
  /**
   * By the number of ranks. Ranks of one run have then run the same modules before, so that the names
   * which tfjs makes for their layers and variables are the same.
   */
  readonly #threads = new Map<number, Worker[]>();

  /** Prepares the module for the threads. */
  static async start(module: string): Promise<ThreadJob> {
    const folder = mkdtempSync(join(tmpdir(), 'acc-threads-'));
    const job = new ThreadJob(module, folder);
    process.once('exit', job.#removeFolder);
    const isSource = import.meta.url.endsWith('.ts');
    const serve = fileURLToPath(new URL(`./serve-thread.${isSource ? 'ts' : 'js'}`, import.meta.url));
    const text = `import { serveThread } from ${JSON.stringify(serve)};\nimport main from ${JSON.stringify(module)};\nserveThread(main);\n`;
    await bundleModule(text, { into: job.#bundle, conditions: isSource ? ['@acc/source'] : [] });
    return job;
  }

  private constructor(module: string, folder: string) {
    this.module = module;
    this.#folder = folder;
  }

  get #bundle(): string {
    return join(this.#folder, BUNDLE);
  }

  readonly #removeFolder = (): void => rmSync(this.#folder, { recursive: true, force: true });

  /** Returns the reports of all ranks. Undefined if one of them had none after `timeoutMs`. */
  async run(ranks: number, args: unknown, timeoutMs: number): Promise<ThreadReport[] | undefined> {
    const threads = this.#threads.get(ranks) ?? Array.from({ length: ranks }, () => this.#startThread());
    this.#threads.set(ranks, threads);
    const memory = SharedState.memoryFor(ranks);
    const state = new SharedState(memory, ranks);
    const ports = connected(ranks);
    const reports = threads.map((thread, rank) => reportOf(thread, rank, state));
    threads.forEach((thread, rank) => {
      const run: ThreadRun = { rank, size: ranks, ports: ports[rank]!, memory, args };
      thread.ref();
      thread.postMessage(run, ports[rank]!.filter((port) => port !== undefined) as TransferListItem[]);
    });
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<undefined>((done) => (timer = setTimeout(done, timeoutMs, undefined)));
    try {
      return await Promise.race([Promise.all(reports), timeout]);
    } finally {
      clearTimeout(timer);
      // A process ends although threads wait for the next run.
      for (const thread of threads) thread.unref();
    }
  }

  /** Ends the threads of as many ranks. The next run of as many ranks starts others. */
  async endThreads(ranks: number): Promise<void> {
    const threads = this.#threads.get(ranks) ?? [];
    this.#threads.delete(ranks);
    await Promise.all(threads.map((thread) => thread.terminate()));
  }

  async end(): Promise<void> {
    for (const ranks of [...this.#threads.keys()]) await this.endThreads(ranks);
    process.off('exit', this.#removeFolder);
    this.#removeFolder();
  }

  /** A message with places in the sources. */
  inSources(text: string): string {
    if (!text.includes(BUNDLE)) return text;
    const payload = JSON.parse(readFileSync(`${this.#bundle}.map`, 'utf8')) as SourceMapPayload;
    const map = new SourceMap(payload);
    return text.replace(/(?:file:\/\/)?[^\s()]*threads\.mjs:(\d+):(\d+)/g, (place, line, column) => {
      const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
      if (!('originalSource' in entry)) return place;
      const path = resolve(dirname(this.#bundle), entry.originalSource);
      return `${path}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
    });
  }

  #startThread(): Worker {
    // Options of this process, for example those of a test runner, are not for the module.
    const thread = new Worker(this.#bundle, { execArgv: [] });
    thread.setMaxListeners(0);
    return thread;
  }
}

/** The ports of each rank to each other rank. */
function connected(ranks: number): (MessagePort | undefined)[][] {
  const ports = Array.from({ length: ranks }, () =>
    new Array<MessagePort | undefined>(ranks).fill(undefined),
  );
  for (let one = 0; one < ranks; one++) {
    for (let other = 0; other < one; other++) {
      const { port1, port2 } = new MessageChannel();
      ports[one]![other] = port1;
      ports[other]![one] = port2;
    }
  }
  return ports;
}

/** The report of a thread. A thread that ends by itself has failed. */
function reportOf(thread: Worker, rank: number, state: SharedState): Promise<ThreadReport> {
  return new Promise((done) => {
    const settle = (report: ThreadReport): void => {
      thread.off('message', settle).off('error', onError).off('exit', onExit);
      done(report);
    };
    const fail = (message: string, stack?: string): void =>
      settle({ ...state.fail(rank, message), code: undefined, message, stack });
    const onError = (error: Error): void => fail(`${error.name}: ${error.message}`, error.stack);
    const onExit = (code: number): void => fail(`The thread has ended with exit code ${code}.`);
    thread.on('message', settle).on('error', onError).on('exit', onExit);
  });
}
