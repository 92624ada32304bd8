import { tensor, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, isPlainRecord } from '@acc/contract';
import { sizeOf, type SampleDraw } from '@acc/formats';
import type { Step } from '../batch-counts.js';
import { batchMemory } from '../batch-memory.js';
import { batchSamples, type Collate } from '../batch-samples.js';
import type { PlannedBatch } from '../indexed-steps.js';
import type { IndexedSource } from '../sample-source.js';
import { blockIn } from '../plain-values.js';
import { TensorMark } from '../structure.js';
import { viewOf, type PackedLeaf } from '../workers/packed-batch.js';
import { WorkerPool, type WorkerBatch } from '../workers/worker-pool.js';

/** Ends the threads of loaders that were collected as garbage without being closed. */
const abandoned = new FinalizationRegistry<WorkerPool>((pool) => void pool.close());

interface PlannedEpoch {
  readonly planned: Iterator<PlannedBatch>;
  readonly draw: SampleDraw;
}

/** The worker threads of a loader. They start with the first epoch and stay for later ones. */
export class LoaderWorkers {
  readonly #source: IndexedSource;
  readonly #count: number;
  readonly #collate: Collate | undefined;
  #pool: WorkerPool | undefined;

  /** @throws AccError `ACC_DATA_WORKERS` if the dataset cannot be opened in another thread. */
  constructor(source: IndexedSource, count: number, collate: Collate | undefined) {
    if (!source.inWorker) throw cannotWork();
    this.#source = source;
    this.#count = count;
    this.#collate = collate;
  }

  /**
   * Yields the batches of planned steps. Up to `ahead` of them are made at a time, besides the one
   * that the loop has.
   */
  async *steps(
    { planned, draw }: PlannedEpoch,
    ahead: number,
    finish: (batch: unknown, step: PlannedBatch) => unknown,
  ): AsyncGenerator<Step<unknown>, void, undefined> {
    const pool = this.#open();
    const created: { step: PlannedBatch; reply: Promise<WorkerBatch> }[] = [];
    let requests = 0;
    const request = () => {
      const next = planned.next();
      if (next.done) return;
      const reply = pool.request(requests++ % this.#count, next.value.indices, draw);
      // The error is thrown when it is the batch's turn.
      reply.catch(() => {});
      created.push({ step: next.value, reply });
    };
    try {
      for (let i = 0; i < ahead; i++) request();
      for (;;) {
        request();
        const first = created.shift();
        if (!first) return;
        const reply = await first.reply;
        const batch = this.#batch(reply);
        pool.release(reply);
        const { counts, end } = first.step;
        yield { batch: finish(batch, first.step), counts, end };
      }
    } finally {
      for (const { reply } of created) void reply.then((batch) => pool.release(batch)).catch(() => {});
    }
  }

  async close(): Promise<void> {
    const pool = this.#pool;
    if (!pool) return;
    this.#pool = undefined;
    abandoned.unregister(this);
    await pool.close();
  }

  #open(): WorkerPool {
    if (this.#pool?.isAlive) return this.#pool;
    const serve = new URL('./serve-batches.js', import.meta.url);
    const packs = this.#collate === undefined;
    this.#pool = new WorkerPool(serve, this.#source.inWorker!, { count: this.#count, packs });
    abandoned.unregister(this);
    abandoned.register(this, this.#pool, this);
    return this.#pool;
  }

  #batch(reply: WorkerBatch): unknown {
    if ('samples' in reply) return batchSamples(reply.samples, this.#collate, new TensorMark());
    return unpack(reply.structure, reply.memory);
  }
}

/** Replaces packed leaves by tensors, which have copies of their elements. */
function unpack(node: unknown, memory: SharedArrayBuffer): unknown {
  if (Array.isArray(node)) return node.map((item) => unpack(item, memory));
  if (!isPlainRecord(node)) return node;
  if (node['isPackedLeaf'] === true) return tensorOf(node as unknown as PackedLeaf, memory);
  return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, unpack(item, memory)]));
}

function tensorOf(leaf: PackedLeaf, memory: SharedArrayBuffer): Tensor {
  const { dtype, strings } = leaf;
  const shape = [...leaf.shape];
  if (strings) return tensor([...strings], shape, 'string');
  const shared = viewOf(memory, leaf, sizeOf(shape));
  // The worker fills the shared memory with a later batch.
  const values = blockIn(batchMemory(shared.byteLength), dtype, shared.length);
  values.set(shared);
  return tensor(values, shape, dtype);
}

/** `ACC_DATA_WORKERS`: `numWorkers` with a dataset that exists in this thread only. */
function cannotWork(): AccError {
  return new AccError(
    'ACC_DATA_WORKERS',
    "DataLoader: 'numWorkers' needs a dataset that other threads can open.",
    {
      help: "Pass await moduleDataset(new URL('./dataset.js', import.meta.url)).",
    },
  );
}
