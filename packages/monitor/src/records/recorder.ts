import * as os from 'node:os';
import { Worker } from 'node:worker_threads';
import { observeCollectives, shareCalls } from '@acc/collective';
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
import { jobCommand } from '../environment.js';
import { AskedWindows, MOST_STEPS } from './asked-windows.js';
import { LoopFigures, type LoopTimes } from './loop-figures.js';
import type { OwnWork } from './own-work.js';
import { SCRIPT } from './recorder-script.js';
import { STACKS } from './stacks-script.js';

/** The figures of a step that the recorder does not measure itself. Times are those of `performance.now()`. */
export type StepFigures = Omit<StepRow, Work | keyof LoopTimes | Memory>;
type Work = 'blocked' | 'replay' | 'flops' | 'calls' | 'kernels' | 'passes' | 'communicating' | 'recordings';
type Memory = 'allocatedBytes' | 'peakBytes' | 'reservedBytes';

/** Rows that wait for the thread: steps of 0.05 ms for 250 ms, and slower ones for longer. */
const CAPACITY = 8192;
const EVERY_MS = 250;
const CLOSE_MS = 2000;
/** Stacks are read no more often. */
const STACKS_EVERY_MS = 1000;
/** Places in the shared control words. */
const WRITTEN = 0;
const TAKEN = 1;
const CLOSING = 2;
const DONE = 3;
const DROPPED = 4;
const COLLECTIVES = 5;
const DEPTH = 6;
const WORDS = 7;

type MachineFact =
  | ('pid' | 'host' | 'command' | 'startedIn')
  | ('processors' | 'hostProcessors' | 'boundTo' | 'threads' | 'memoryBytes');

interface Given {
  readonly folder: string;
  readonly rank: number;
  /** Whether tensors are those of the addon, which counts their memory and their products. */
  readonly hasNative: boolean;
  readonly own: OwnWork;
  readonly facts: Omit<Facts, MachineFact>;
  readonly warn: (message: string) => void;
  /** How long {@link Recorder.close} waits for the thread, at most. */
  readonly closeMs?: number;
}

/** Of one step. */
interface Measured extends Pick<StepRow, Exclude<Work, 'replay'>> {
  readonly replay: { ms: number; flops: number; count: number };
  readonly loop: LoopTimes;
}

const NO_REPLAY = { ms: 0, flops: 0, count: 0 };
const NO_CALLS = { calls: 0, kernels: 0 };

/**
 * Records the steps of a rank, a row each, in `steps-rank-<rank>.acc`, and samples of its process in
 * `samples-rank-<rank>.acc`, after the facts of the run in `facts-rank-<rank>.jsonl`. A thread writes
 * them. Problems with the files are told once, and training goes on.
 */
export class Recorder {
  readonly #control = new Int32Array(new SharedArrayBuffer(4 * WORDS));
  readonly #rows = new Float64Array(new SharedArrayBuffer(8 * CAPACITY * STEP_COLUMNS.length));
  readonly #worker: Worker | undefined;
  readonly #ends: readonly (() => void)[];
  /** Windows of steps that `acc monitor` asks for. */
  readonly windows: AskedWindows;
  readonly #loop = new LoopFigures(() => this.given.own.isRunning);
  #calls = { ...NO_CALLS };
  /** Milliseconds in collectives in the step that runs. Changed in place. */
  readonly #waits = { blocked: 0, communicating: 0 };
  /** Of the step that runs. */
  #replay = { ...NO_REPLAY };
  /** The number of the step that runs. The recorder begins after the first one. */
  #running = 2;
  #measured: Measured = {
    ...{ blocked: NaN, flops: NaN, replay: { ...NO_REPLAY }, calls: NaN, kernels: NaN },
    ...{ passes: 0, communicating: 0, recordings: 0 },
    loop: this.#loop.take(),
  };
  /** The last step. It waits for the report of the replay that it ended in, if there is one. */
  #last: StepFigures | undefined;
  /** Undefined unless the last step has figures of memory. */
  #memory: ReturnType<typeof memoryStats> | undefined;
  #endCounting: (() => void) | undefined;

  constructor(private readonly given: Given) {
    const { folder, rank } = given;
    tryToMake(folder);
    this.windows = new AskedWindows({ folder, rank });
    const calls = shareCalls();
    this.#worker = this.#start({
      ...filesOf(folder, rank, { ...given.facts, ...machineFacts(given.hasNative) }),
      asks: { ...asksOf(folder), window: this.windows.shared, calls: calls.memory },
      control: this.#control.buffer,
      ring: this.#rows.buffer,
      rank,
      everyMs: EVERY_MS,
      magic: MAGIC,
      headerBytes: BLOCK_HEADER_BYTES,
      kind: KIND,
    });
    this.#ends = [
      observeCollectives(
        (_, ms) => {
          if (--this.#control[DEPTH]! === 0) this.#waits.communicating += ms;
          this.blocked(ms);
        },
        () => {
          this.#control[COLLECTIVES]!++;
          this.#control[DEPTH]!++;
        },
      ),
      observeReplays((report) => this.replayed(report)),
      () => this.#loop.close(),
      calls.end,
    ];
    this.#count();
  }

  /**
   * Ends the figures of a step. Collectives from here on belong to the next one.
   *
   * @param isRecorded Whether the step is recorded, to be replayed later.
   */
  endStep(isRecorded = false): void {
    this.#publish();
    const flops = this.given.own.takeFlops();
    const isCounted = this.#endCounting !== undefined;
    this.#endCounting?.();
    // Without spreads, which would take longer than all the rest.
    this.#measured = {
      blocked: this.#waits.blocked,
      flops: isCounted ? flops : NaN,
      replay: this.#replay,
      calls: isCounted ? this.#calls.calls : NaN,
      kernels: isCounted ? this.#calls.kernels : NaN,
      passes: this.given.own.takePasses(),
      communicating: this.#waits.communicating,
      recordings: isRecorded ? 1 : 0,
      loop: this.#loop.take(),
    };
    if (isCounted) this.#calls = { ...NO_CALLS };
    this.#waits.blocked = this.#waits.communicating = 0;
    this.#replay = { ...NO_REPLAY };
    this.#running++;
    this.#count();
  }

  /** @param isDue Whether the step has the figures that take longer. */
  step(figures: StepFigures, isDue: boolean): void {
    this.#memory = isDue && this.given.hasNative ? memoryStats() : undefined;
    this.#last = figures;
    this.#loop.skip();
  }

  /** The main thread was in a collective. */
  blocked(ms: number): void {
    if (this.given.own.isRunning) this.#waits.blocked += ms;
  }

  /** The report of a replay comes after the end of its step. What ran after that end is in the next step. */
  replayed({ start, ms, flops }: Pick<ReplayReport, 'start' | 'ms' | 'flops'>): void {
    if (!this.given.own.endReplay(start)) return;
    const end = this.#last?.end ?? -Infinity;
    if (start >= end) {
      add(this.#replay, ms, flops.model);
      return;
    }
    add(this.#measured.replay, end - start, flops.model);
    this.#replay.ms += start + ms - end;
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
    const at = this.#place();
    if (at === undefined) return;
    const [rows, memory] = [this.#rows, this.#memory];
    put(rows, at, last);
    put(rows, at, this.#measured.loop);
    put(rows, at, figuresOfWork(this.#measured, last));
    rows[at + INDEX.start] = performance.timeOrigin + last.start;
    rows[at + INDEX.end] = performance.timeOrigin + last.end;
    rows[at + INDEX.allocatedBytes] = memory?.allocatedBytes ?? NaN;
    rows[at + INDEX.peakBytes] = memory?.peakAllocatedBytes ?? NaN;
    rows[at + INDEX.reservedBytes] = memory?.reservedBytes ?? NaN;
    Atomics.add(this.#control, WRITTEN, 1);
  }

  /** The place of the next row. Undefined: there is none. */
  #place(): number | undefined {
    const written = Atomics.load(this.#control, WRITTEN);
    if (!this.#worker) return undefined;
    if (written - Atomics.load(this.#control, TAKEN) < CAPACITY)
      return (written % CAPACITY) * STEP_COLUMNS.length;
    Atomics.add(this.#control, DROPPED, 1);
    return undefined;
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

/** A replay runs collectives before the first hook, so it is not known whose they are. */
function figuresOfWork(measured: Measured, { forward, backward }: StepFigures): Pick<StepRow, Work> {
  const { blocked, flops, replay, calls, kernels, passes, communicating, recordings } = measured;
  const hasPasses = forward > 0 || backward > 0;
  const outside = replay.count > 0 && !hasPasses ? 0 : flops;
  return {
    blocked: replay.count > 0 ? NaN : blocked,
    replay: replay.ms,
    flops: outside + replay.flops,
    calls,
    kernels,
    passes: replay.count > 0 ? NaN : passes,
    communicating,
    recordings,
  };
}

/** The files of a rank, with what is written first. */
function filesOf(folder: string, rank: number, facts: Facts) {
  const path = (name: string, extension: string) => join(folder, `${name}-rank-${rank}.${extension}`);
  return {
    files: {
      steps: { path: path('steps', 'acc'), columns: STEP_COLUMNS },
      samples: { path: path('samples', 'acc'), columns: SAMPLE_COLUMNS },
    },
    facts: { path: path('facts', 'jsonl'), line: `${JSON.stringify(facts)}\n` },
  };
}

/** Where requests of `acc monitor` are, and what they may ask for. */
function asksOf(insight: string) {
  const folder = join(insight, 'asks');
  const request = join(folder, 'request.json');
  return { folder, request, mostSteps: MOST_STEPS, stacksEveryMs: STACKS_EVERY_MS, stacks: STACKS };
}

const INDEX = Object.fromEntries(STEP_COLUMNS.map((name, i) => [name, i])) as Readonly<
  Record<keyof StepRow, number>
>;

/** Writes figures into the row that begins at `at`. */
function put(rows: Float64Array, at: number, figures: Partial<StepRow>): void {
  for (const name in figures) {
    const column = name as keyof StepRow;
    rows[at + INDEX[column]] = figures[column]!;
  }
}

function add(replay: { ms: number; flops: number; count: number }, ms: number, flops: number): void {
  replay.ms += ms;
  replay.flops += flops;
  replay.count++;
}

function machineFacts(hasNative: boolean): Pick<Facts, MachineFact> {
  return {
    pid: process.pid,
    host: hostName(),
    ...{ command: jobCommand(), startedIn: process.cwd() },
    processors: os.availableParallelism(),
    hostProcessors: os.cpus().length,
    boundTo: boundTo(),
    threads: hasNative ? numThreads() : null,
    // The limit of a container. 0, or more than there is: none.
    memoryBytes: Math.min(process.constrainedMemory() || Infinity, os.totalmem()),
  };
}

/** The processors that this process is bound to, which Linux tells. */
function boundTo(): string | null {
  try {
    const [, ranges] = /^Cpus_allowed_list:\s*(\S+)/m.exec(files.readText('/proc/self/status')) ?? [];
    return ranges ?? null;
  } catch {
    return null;
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
