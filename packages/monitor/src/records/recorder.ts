import { Worker } from 'node:worker_threads';
import { observeCollectives } from '@acc/collective';
import { countFlops, observeReplays } from '@acc/kernels';
import { memoryStats } from '@acc/native';
import { files, join } from '@acc/platform';
import { BLOCK_HEADER_BYTES, KIND, MAGIC, SAMPLE_COLUMNS, STEP_COLUMNS, type StepRow } from './format.js';
import { SCRIPT } from './recorder-script.js';

/** The figures of a step that the recorder does not measure itself. Times are those of `performance.now()`. */
export type StepFigures = Omit<StepRow, 'collectives' | 'replay' | 'flops' | 'allocatedBytes' | 'peakBytes'>;

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

/**
 * Records the steps of a rank, a row each, in `steps-rank-<rank>.acc`, and samples of its process in
 * `samples-rank-<rank>.acc`. A thread writes both. Problems with the files are told once, and training
 * goes on.
 */
export class Recorder {
  readonly #control = new Int32Array(new SharedArrayBuffer(4 * (DROPPED + 1)));
  readonly #rows = new Float64Array(new SharedArrayBuffer(8 * CAPACITY * STEP_COLUMNS.length));
  readonly #worker: Worker;
  readonly #ends: readonly (() => void)[];
  #collectivesMs = 0;
  #replayMs = 0;
  #replayFlops = 0;
  /** Of the operators outside of replays, as they were counted in the last step that was counted. */
  #flops = 0;
  /** The number of the step that runs. The recorder begins after the first one. */
  #running = 2;
  #measured = { collectives: NaN, replay: NaN, flops: NaN };
  #endCounting: ReturnType<typeof countFlops> | undefined = countFlops();

  /** @param given hasNative: whether tensors are those of the addon, which counts their memory. */
  constructor(private readonly given: { folder: string; rank: number; hasNative: boolean }) {
    const { folder, rank } = given;
    tryToMake(folder);
    const file = (name: string, columns: readonly string[]) => ({
      path: join(folder, `${name}-rank-${rank}.acc`),
      columns,
    });
    const parts = {
      files: { steps: file('steps', STEP_COLUMNS), samples: file('samples', SAMPLE_COLUMNS) },
      ...{ control: this.#control.buffer, ring: this.#rows.buffer, rank, everyMs: EVERY_MS },
      ...{ magic: MAGIC, headerBytes: BLOCK_HEADER_BYTES, kind: KIND },
    };
    this.#worker = new Worker(SCRIPT, { eval: true, execArgv: [], workerData: parts });
    this.#worker.unref();
    this.#ends = [
      observeCollectives((_, ms) => void (this.#collectivesMs += ms)),
      observeReplays(({ ms, flops }) => {
        this.#replayMs += ms;
        this.#replayFlops += flops.model;
      }),
    ];
  }

  /** Ends the figures of a step. Collectives from here on belong to the next one. */
  endStep(): void {
    this.#measured = {
      collectives: this.#collectivesMs,
      replay: this.#replayMs,
      flops: this.#countFlops() || NaN,
    };
    this.#collectivesMs = this.#replayMs = this.#replayFlops = 0;
  }

  /** @param isDue Whether the step has the figures that take longer. */
  step(figures: StepFigures, isDue: boolean): void {
    const control = this.#control;
    const written = Atomics.load(control, WRITTEN);
    if (written - Atomics.load(control, TAKEN) < CAPACITY) {
      const memory = isDue && this.given.hasNative ? memoryStats() : undefined;
      const row: StepRow = {
        ...figures,
        start: performance.timeOrigin + figures.start,
        end: performance.timeOrigin + figures.end,
        ...this.#measured,
        allocatedBytes: memory?.allocatedBytes ?? NaN,
        peakBytes: memory?.peakAllocatedBytes ?? NaN,
      };
      const at = (written % CAPACITY) * STEP_COLUMNS.length;
      for (const [i, name] of STEP_COLUMNS.entries()) this.#rows[at + i] = row[name];
      Atomics.store(control, WRITTEN, written + 1);
    } else {
      Atomics.add(control, DROPPED, 1);
    }
  }

  /** Waits until the thread has written the last rows. */
  close(): void {
    for (const end of this.#ends) end();
    this.#endCounting?.();
    Atomics.store(this.#control, CLOSING, 1);
    Atomics.notify(this.#control, CLOSING);
    Atomics.wait(this.#control, DONE, 0, CLOSE_MS);
    void this.#worker.terminate();
  }

  /**
   * The operations of the step that ends. Those of operators outside of replays are counted in steps 2, 4,
   * 8 and so on, because counting takes as long as a small step.
   */
  #countFlops(): number {
    if (this.#endCounting) this.#flops = this.#endCounting().model;
    this.#endCounting = undefined;
    const next = ++this.#running;
    if ((next & (next - 1)) === 0) this.#endCounting = countFlops();
    return this.#flops + this.#replayFlops;
  }
}

/** Opening the files says what is wrong with the folder. */
function tryToMake(folder: string): void {
  try {
    files.makeFolder(folder);
  } catch {
    return;
  }
}
