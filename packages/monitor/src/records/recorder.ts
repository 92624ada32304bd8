import * as os from 'node:os';
import { Worker } from 'node:worker_threads';
import { observeCollectives } from '@acc/collective';
import { flopsOfCall, observeReplays, type ReplayReport } from '@acc/kernels';
import { numThreads, memoryStats, observeCalls } from '@acc/native';
import { files, hostName, join } from '@acc/platform';
import {
  BLOCK_HEADER_BYTES,
  KIND,
  MAGIC,
  SAMPLE_COLUMNS,
  STEP_COLUMNS,
  type Facts,
  type StepRow,
} from '@acc/records';
import { LoopFigures, type LoopTimes } from './loop-figures.js';
import type { OwnWork } from './own-work.js';
import { SCRIPT } from './recorder-script.js';

/** The figures of a step that the recorder does not measure itself. Times are those of `performance.now()`. */
export type StepFigures = Omit<StepRow, Measured | Memory>;
type Measured = 'blocked' | 'replay' | 'flops' | 'calls' | 'kernels' | keyof LoopTimes;
type Memory = 'allocatedBytes' | 'peakBytes';

/** Rows that wait for the thread: steps of 0.05 ms for 250 ms, and slower ones for longer. */
const CAPACITY = 8192;
const EVERY_MS = 250;
const CLOSE_MS = 2000;
/** Places in the shared control words. */
const WRITTEN = 0;
const TAKEN = 1;
const CLOSING = 2;
const DONE = 3;
const DROPPED = 4;

interface Given {
  readonly folder: string;
  readonly rank: number;
  /** Whether tensors are those of the addon, which counts their memory and their products. */
  readonly hasNative: boolean;
  readonly own: OwnWork;
  readonly facts: Omit<Facts, 'host' | 'processors' | 'threads' | 'memoryBytes'>;
  readonly warn: (message: string) => void;
  /** How long {@link Recorder.close} waits for the thread, at most. */
  readonly closeMs?: number;
}

const NO_REPLAY = { ms: 0, flops: 0, count: 0 };
const NO_CALLS = { calls: 0, kernels: 0 };

/**
 * Records the steps of a rank, a row each, in `steps-rank-<rank>.acc`, and samples of its process in
 * `samples-rank-<rank>.acc`, after the facts of the run in `facts-rank-<rank>.jsonl`. A thread writes them. Problems with the files are told once, and training
 * goes on.
 */
export class Recorder {
  readonly #control = new Int32Array(new SharedArrayBuffer(4 * (DROPPED + 1)));
  readonly #rows = new Float64Array(new SharedArrayBuffer(8 * CAPACITY * STEP_COLUMNS.length));
  readonly #worker: Worker | undefined;
  readonly #ends: readonly (() => void)[];
  readonly #loop = new LoopFigures();
  #calls = { ...NO_CALLS };
  #blockedMs = 0;
  /** Of the step that runs. */
  #replay = { ...NO_REPLAY };
  /** The number of the step that runs. The recorder begins after the first one. */
  #running = 2;
  #measured = {
    ...{ blocked: NaN, flops: NaN, replay: { ...NO_REPLAY } },
    ...{ calls: NaN, kernels: NaN },
    ...{ loader: NaN, saves: NaN, gc: NaN },
  };
  /** The last step. It waits for the report of the replay that it ended in, if there is one. */
  #last: (StepFigures & Pick<StepRow, Memory>) | undefined;
  #endCounting: (() => void) | undefined;

  constructor(private readonly given: Given) {
    const { folder, rank } = given;
    tryToMake(folder);
    const file = (name: string, columns: readonly string[]) => ({
      path: join(folder, `${name}-rank-${rank}.acc`),
      columns,
    });
    this.#worker = this.#start({
      files: { steps: file('steps', STEP_COLUMNS), samples: file('samples', SAMPLE_COLUMNS) },
      facts: {
        path: join(folder, `facts-rank-${rank}.jsonl`),
        line: `${JSON.stringify({ ...given.facts, ...machineFacts(given.hasNative) })}\n`,
      },
      control: this.#control.buffer,
      ring: this.#rows.buffer,
      rank,
      everyMs: EVERY_MS,
      magic: MAGIC,
      headerBytes: BLOCK_HEADER_BYTES,
      kind: KIND,
    });
    this.#ends = [
      observeCollectives((_, ms) => this.blocked(ms)),
      observeReplays((report) => this.replayed(report)),
      () => this.#loop.close(),
    ];
    this.#count();
  }

  /** Ends the figures of a step. Collectives from here on belong to the next one. */
  endStep(): void {
    this.#publish();
    const flops = this.given.own.takeFlops();
    const isCounted = this.#endCounting !== undefined;
    this.#endCounting?.();
    this.#measured = {
      ...{ blocked: this.#blockedMs, flops: isCounted ? flops : NaN, replay: this.#replay },
      ...(isCounted ? this.#calls : { calls: NaN, kernels: NaN }),
      ...this.#loop.take(),
    };
    this.#calls = { ...NO_CALLS };
    this.#blockedMs = 0;
    this.#replay = { ...NO_REPLAY };
    this.#running++;
    this.#count();
  }

  /** @param isDue Whether the step has the figures that take longer. */
  step(figures: StepFigures, isDue: boolean): void {
    const memory = isDue && this.given.hasNative ? memoryStats() : undefined;
    this.#last = {
      ...figures,
      allocatedBytes: memory?.allocatedBytes ?? NaN,
      peakBytes: memory?.peakAllocatedBytes ?? NaN,
    };
  }

  /** The main thread was in a collective. */
  blocked(ms: number): void {
    if (this.given.own.isRunning) this.#blockedMs += ms;
  }

  /** The report of a replay comes after the end of its step. What ran after that end is in the next step. */
  replayed({ ms, flops }: Pick<ReplayReport, 'ms' | 'flops'>): void {
    const now = performance.now();
    const start = now - ms;
    if (!this.given.own.endReplay(start)) return;
    const end = this.#last?.end ?? -Infinity;
    if (start >= end) {
      add(this.#replay, ms, flops.model);
      return;
    }
    add(this.#measured.replay, end - start, flops.model);
    this.#replay.ms += now - end;
    this.#publish();
  }

  /** Waits until the thread has written the last rows. */
  close(): void {
    this.#publish();
    for (const end of this.#ends) end();
    this.#endCounting?.();
    if (!this.#worker) return;
    Atomics.store(this.#control, CLOSING, 1);
    Atomics.notify(this.#control, CLOSING);
    const { closeMs = CLOSE_MS } = this.given;
    const isLate = Atomics.wait(this.#control, DONE, 0, closeMs) === 'timed-out';
    if (isLate) this.#warn(`the last records may be missing, because their thread got no processor`);
    void this.#worker.terminate();
  }

  #start(workerData: object): Worker | undefined {
    try {
      const worker = new Worker(SCRIPT, { eval: true, execArgv: [], workerData });
      worker.unref();
      worker.on('error', ({ message }) => this.#warn(`the records end here: ${message}`));
      worker.on('exit', () => Atomics.store(this.#control, DONE, 1));
      return worker;
    } catch (error) {
      this.#warn(`there are no records: ${(error as Error).message}`);
      return undefined;
    }
  }

  #warn(problem: string): void {
    this.given.warn(`acc: rank ${this.given.rank}: ${problem}. Training goes on.`);
  }

  #publish(): void {
    const last = this.#last;
    if (!last) return;
    this.#last = undefined;
    const { timeOrigin } = performance;
    const work = this.#figuresOfWork(last);
    this.#write({ ...last, start: timeOrigin + last.start, end: timeOrigin + last.end, ...work });
  }

  /** A replay runs collectives before the first hook, so it is not known whose they are. */
  #figuresOfWork({ forward, backward }: StepFigures): Pick<StepRow, Measured> {
    const { blocked, flops, replay, ...others } = this.#measured;
    const hasPasses = forward > 0 || backward > 0;
    const outside = replay.count > 0 && !hasPasses ? 0 : flops;
    return {
      ...others,
      ...{ blocked: replay.count > 0 ? NaN : blocked, replay: replay.ms, flops: outside + replay.flops },
    };
  }

  #write(row: StepRow): void {
    const control = this.#control;
    const written = Atomics.load(control, WRITTEN);
    if (!this.#worker) return;
    if (written - Atomics.load(control, TAKEN) >= CAPACITY) {
      Atomics.add(control, DROPPED, 1);
      return;
    }
    const at = (written % CAPACITY) * STEP_COLUMNS.length;
    for (const [i, name] of STEP_COLUMNS.entries()) this.#rows[at + i] = row[name];
    Atomics.store(control, WRITTEN, written + 1);
  }

  /** Counts products in steps 2, 4, 8 and so on, because counting takes as long as a small step. */
  #count(): void {
    const { hasNative, own } = this.given;
    const isPower = (this.#running & (this.#running - 1)) === 0;
    this.#endCounting =
      hasNative && isPower
        ? observeCalls((name, args, ms) => {
            own.count(flopsOfCall(name, args)?.model ?? 0);
            if (!own.isRunning) return;
            this.#calls.calls++;
            this.#calls.kernels += ms;
          })
        : undefined;
  }
}

function add(replay: { ms: number; flops: number; count: number }, ms: number, flops: number): void {
  replay.ms += ms;
  replay.flops += flops;
  replay.count++;
}

function machineFacts(hasNative: boolean): Pick<Facts, 'host' | 'processors' | 'threads' | 'memoryBytes'> {
  return {
    host: hostName(),
    processors: os.availableParallelism(),
    threads: hasNative ? numThreads() : null,
    // The limit of a container. 0, or more than there is: none.
    memoryBytes: Math.min(process.constrainedMemory() || Infinity, os.totalmem()),
  };
}

/** Opening the files says what is wrong with the folder. */
function tryToMake(folder: string): void {
  try {
    files.makeFolder(folder);
  } catch {
    return;
  }
}
