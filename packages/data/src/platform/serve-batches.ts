import { parentPort, workerData } from 'node:worker_threads';
import type { IndexedDataset, WorkerDataset } from '@acc/formats';
import { nameOfSample } from '../name-of-sample.js';
import { openDataset, type BatchReply, type BatchRequest, type WorkerFailure } from '../workers/messages.js';
import { planPacking } from '../workers/packed-batch.js';

/** New memory has room for batches that are slightly larger, such as those of padded sequences. */
const ROOM = 1.25;

/** Runs in a worker thread: makes batches, one after the other, until the thread is ended. */
export function serveBatches(): void {
  const dataset = openDataset((workerData as { dataset: WorkerDataset }).dataset);
  // A failure is the answer to each request.
  dataset.catch(() => {});
  let turn: Promise<void> = Promise.resolve();
  parentPort!.on('message', (request: BatchRequest) => {
    turn = turn.then(async () => parentPort!.postMessage(await answer(dataset, request)));
  });
}

async function answer(dataset: Promise<IndexedDataset<unknown>>, request: BatchRequest): Promise<BatchReply> {
  const { id, indices, draw, packs } = request;
  let where: WorkerFailure['where'] = 'dataset';
  try {
    const opened = await dataset;
    where = undefined;
    const samples = await Promise.all(
      Array.from(indices, async (index) => {
        try {
          return await opened.get(index, draw);
        } catch (error) {
          where ??= { index, name: nameOfSample(opened, index) };
          throw error;
        }
      }),
    );
    if (!packs) return { id, samples };
    const plan = planPacking(samples);
    const isEnough = request.memory !== undefined && request.memory.byteLength >= plan.bytes;
    const memory = isEnough ? request.memory! : new SharedArrayBuffer(Math.ceil(plan.bytes * ROOM));
    plan.write(memory);
    return { id, structure: plan.structure, memory };
  } catch (error) {
    return { id, failure: failureOf(error, where) };
  }
}

function failureOf(error: unknown, where: WorkerFailure['where']): WorkerFailure {
  if (!(error instanceof Error)) {
    return { where, message: String(error), stack: undefined, code: undefined, details: undefined };
  }
  const { message, stack } = error;
  const { code, details } = error as { code?: unknown; details?: unknown };
  return {
    where,
    message,
    stack,
    code: typeof code === 'string' ? code : undefined,
    details: code === undefined ? undefined : JSON.parse(JSON.stringify(details ?? {})),
  };
}
