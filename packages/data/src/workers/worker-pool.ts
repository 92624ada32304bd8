import { Worker } from 'node:worker_threads';
import { AccError } from '@acc/contract';
import type { SampleDraw, WorkerDataset } from '@acc/formats';
import { sampleFailed } from '../errors.js';
import type { BatchReply, BatchRequest, WorkerFailure } from './messages.js';

export type WorkerBatch = Exclude<BatchReply, { readonly failure: WorkerFailure }>;

interface Waiting {
  readonly worker: number;
  readonly resolve: (reply: WorkerBatch) => void;
  readonly reject: (error: unknown) => void;
}

/** Worker threads that make batches of one dataset. They end with the process. */
export class WorkerPool {
  readonly #workers: Worker[];
  readonly #waiting = new Map<number, Waiting>();
  /** Memory of batches that were taken over. */
  readonly #free: SharedArrayBuffer[] = [];
  readonly #packs: boolean;
  #next = 0;
  #ended: AccError | undefined;

  /** @param serve The address of the module that has `serveBatches`. */
  constructor(serve: URL, dataset: WorkerDataset, options: { count: number; packs: boolean }) {
    this.#packs = options.packs;
    const program =
      "import(require('node:worker_threads').workerData.serve).then(({ serveBatches }) => serveBatches());";
    this.#workers = Array.from({ length: options.count }, (_, number) => {
      const worker = new Worker(program, { eval: true, workerData: { serve: serve.href, dataset } });
      worker.unref();
      worker.on('message', (reply: BatchReply) => this.#settle(reply));
      worker.on('error', (error) => this.#end(number, error));
      worker.on('exit', (exitCode) => this.#end(number, undefined, exitCode));
      return worker;
    });
  }

  /** Whether the pool can make batches. */
  get isAlive(): boolean {
    return this.#ended === undefined;
  }

  /**
   * Asks a worker for a batch. Rejects with AccError `ACC_DATA_SAMPLE`, `ACC_DATA_COLLATE`,
   * `ACC_DATA_WORKER`.
   */
  request(number: number, indices: Int32Array, draw: SampleDraw): Promise<WorkerBatch> {
    if (this.#ended) return Promise.reject(this.#ended);
    const worker = this.#workers[number]!;
    const id = this.#next++;
    const request: BatchRequest = { id, indices, draw, memory: this.#free.pop(), packs: this.#packs };
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { worker: number, resolve, reject });
      // The process must not end while the loop waits for a batch.
      worker.ref();
      worker.postMessage(request);
    });
  }

  /** Takes back the memory of a batch. */
  release(reply: WorkerBatch): void {
    if ('memory' in reply) this.#free.push(reply.memory);
  }

  async close(): Promise<void> {
    this.#ended ??= new AccError('ACC_DATA_WORKER', 'The loader was closed while batches were made.', {
      help: 'Read the batches before you close the loader.',
    });
    this.#rejectAll(this.#ended);
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
  }

  #settle(reply: BatchReply): void {
    const waiting = this.#waiting.get(reply.id);
    if (!waiting) return;
    this.#waiting.delete(reply.id);
    const isIdle = ![...this.#waiting.values()].some(({ worker }) => worker === waiting.worker);
    if (isIdle) this.#workers[waiting.worker]!.unref();
    if ('failure' in reply) waiting.reject(errorOf(reply.failure, waiting.worker));
    else waiting.resolve(reply);
  }

  /** A worker cannot go on. */
  #end(number: number, cause: unknown, exitCode?: number): void {
    if (this.#ended) return;
    const reason = cause instanceof Error ? cause.message : `it exited with code ${exitCode}`;
    this.#ended = new AccError('ACC_DATA_WORKER', `Worker thread ${number} of the loader ended: ${reason}.`, {
      help: 'A dataset must not end its thread. If memory ran out, use fewer workers or a smaller prefetch.',
      cause,
      details: { worker: number, exitCode },
    });
    this.#rejectAll(this.#ended);
    for (const worker of this.#workers) void worker.terminate();
  }

  #rejectAll(error: AccError): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

/** Errors of ours have a next step in their message. */
function nextStep(message: string, otherwise: string): string | undefined {
  return message.includes('\n→ ') ? undefined : otherwise;
}

function errorOf({ where, message, stack, code, details }: WorkerFailure, worker: number): AccError {
  const cause =
    code === undefined
      ? new Error(message)
      : new AccError(code, message, { details: details as Record<string, unknown> });
  if (stack !== undefined) cause.stack = stack;
  // A dataset that names the sample itself needs no second message.
  const isComplete = code === 'ACC_DATA_SAMPLE' || (where === undefined && code !== undefined);
  if (isComplete) return cause as AccError;
  if (where === 'dataset' || where === undefined) {
    return new AccError('ACC_DATA_WORKER', `Worker thread ${worker} of the loader: ${message}`, {
      help: nextStep(message, 'Correct the dataset.'),
      cause,
      details: { worker },
    });
  }
  return sampleFailed({ ...where, worker }, message, cause);
}
