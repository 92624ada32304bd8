import { crc32 } from '@acc/platform';
import { inflate } from '#platform/inflate';

// A file of records is a list of blocks: the word MAGIC, the kind, the bytes of the payload, its CRC-32, and
// the payload. All numbers are little-endian. The first block of a process has JSON, the others have rows
// of numbers, deflated. Blocks are only appended. A block that a killed process has left unfinished is
// passed over.

/** `ACR1`. The digit is the version of the format. */
export const MAGIC = 0x31524341;
export const BLOCK_HEADER_BYTES = 16;
export const KIND = { columns: 0, rows: 1 } as const;
/** A recorder writes at most 8192 rows in a block. A block that claims more than this is damaged. */
const MOST_BLOCK_BYTES = 1 << 24;

/** The columns of a row for each step. Times are in milliseconds, NaN stands for an unknown figure. */
export const STEP_COLUMNS = [
  // The number of the optimizer step, from 1.
  'step',
  // Since 1970.
  'start',
  'end',
  'forward',
  'backward',
  'optimizer',
  // From the last gradient of this rank until the gradients were reduced over the ranks, without the part
  // that belongs to other phases.
  'exposed',
  // The time in which the main thread was blocked in collectives of passes, of the reduction of gradients and
  // of the optimizer. Collectives that run beside it count only while it waits for them. NaN in steps with
  // replays.
  'blocked',
  // The time in replays of compiled steps of this training.
  'replay',
  // By this rank to others, in the group of all ranks and in those of the mesh, since the row before.
  'bytesSent',
  // Of all ranks.
  'samples',
  'tokens',
  // Of this rank, by the products that the model needs in passes. Known in steps that are only replays, and
  // else in the second, fourth, eighth step and so on.
  'flops',
  // Both once every `autoLog.every` steps: the mean loss since then, and the norm of this step.
  'loss',
  'gradNorm',
  // Of tensors of the whole process, at the same steps.
  'allocatedBytes',
  'peakBytes',
  // At the same steps: 1 if the loss or the norm is NaN or infinite, else 0.
  'nonFinite',
  // Of the optimizer in this step.
  'learningRate',
  // The tensors that tfjs holds at the end of the step.
  'tensors',
  // The time in which the loop waited for a batch of a DataLoader or of prepared data.
  'loader',
  // The time in which the loop waited for a checkpoint to be saved.
  'saves',
  // The garbage collections that Node.js reported since the row before. It reports them when the event loop
  // runs, so they may belong to earlier steps. NaN until the first report.
  'gc',
  // Native calls of the step and the time in them, in the steps whose FLOPs are counted by calls.
  'calls',
  'kernels',
  // Backward passes since the row before. NaN in steps with replays.
  'passes',
  // The time of the main thread in collectives of any kind since the row before, also between passes.
  'communicating',
  // 1 if the step was recorded, to be replayed later, else 0.
  'recordings',
  // The mean loss of this rank alone, in the steps that have the loss of all ranks.
  'ownLoss',
  // The time in forward passes of this training that no backward pass followed: predictions.
  'evaluation',
  // The time in which the loop waited for values of tensors that it reads, between passes.
  'reads',
  // The time in which trackers kept the main thread.
  'logging',
  // The tokens of the fullest expert of a layer, of their mean. The largest since the row before, 0 without
  // experts.
  'expertLoad',
  // In the steps with figures of memory: allocated bytes, and those kept for reuse.
  'reservedBytes',
  // The next five are known in each set of figures whose number is a power of 2. The norm of the gradients
  // of this rank alone. NaN on one rank, in steps of several passes, and if ranks hold shards of weights.
  'ownGradNorm',
  // Of the trained variables of this rank, after the step. NaN on one rank, and if ranks hold shards of them.
  'weightNorm',
  // The root mean square of the first gradient with two dimensions or more, of that of the last one. 1
  // without two of them.
  'gradRatio',
  // The share of the elements of gradients with one dimension, such as those of biases, that are exactly 0.
  'zeroUnits',
  // The variables of the pass that have no gradient. NaN on one rank.
  'unusedVariables',
] as const;

/** The columns of a row every 250 ms. All but `time`, `rssBytes` and `isInCollective` count up from some start. */
export const SAMPLE_COLUMNS = [
  'time',
  'rssBytes',
  'cpuMs',
  'stealMs',
  'majorFaults',
  'minorFaults',
  'involuntarySwitches',
  // The time in which the main thread could run and no processor was free for it (Linux).
  'runQueueMs',
  // All processors of the host together, busy for any program.
  'hostBusyMs',
  // Parts of collectives that the main thread has begun.
  'collectives',
  // 1 while the main thread is in one, else 0.
  'isInCollective',
  // The time in which a limit of processor time held the process up, over all processors (Linux).
  'throttledMs',
  // The time in which some process of the host waited for memory (Linux).
  'memoryStallMs',
] as const;

export type StepColumn = (typeof STEP_COLUMNS)[number];
export type SampleColumn = (typeof SAMPLE_COLUMNS)[number];
/** The figures of a step of one rank. Times are in milliseconds, and NaN stands for an unknown figure. */
export type StepRow = Readonly<Record<StepColumn, number>>;
/** The figures of a rank's process at a time, in milliseconds since 1970. */
export type SampleRow = Readonly<Record<SampleColumn, number>>;
type Row = Readonly<Record<string, number>>;

/**
 * The rows in a file of records, in the order in which they were written, in Node and in a page. Parts that
 * are not whole, and bytes that are no records, are passed over.
 *
 * @param bytes The content of `steps-rank-<rank>.acc` or `samples-rank-<rank>.acc`, also while it is
 * being written.
 */
export async function parseRecords<T extends Row = Row>(bytes: Uint8Array): Promise<T[]> {
  return (await readBlocks<T>(bytes)).rows;
}

/** The content of a file of records. */
interface Blocks<T> {
  readonly rows: T[];
  /** The number of bytes that belong to no whole block. */
  readonly passedOver: number;
  /** The index of the first row of the last process that wrote rows. */
  readonly lastBegin: number;
}

/** Reads all blocks of a file. */
export async function readBlocks<T extends Row>(bytes: Uint8Array): Promise<Blocks<T>> {
  const tail = new RecordsTail<T>();
  const rows = await tail.add(bytes);
  const { passedOver, lastBegin } = tail;
  return { rows, passedOver, lastBegin };
}

/** Reads a file of records that grows, a part after the other. A block may begin in one and end in another. */
export class RecordsTail<T extends Row = Row> {
  #columns: readonly string[] = [];
  /** Bytes from the first block on whose end is still to come. */
  #rest = new Uint8Array();
  #rows = 0;
  #begin = 0;
  #lastBegin = 0;
  #passedOver = 0;
  #bytes = 0;

  /** The number of bytes that were read. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The number of rows that were read. */
  get rowCount(): number {
    return this.#rows;
  }

  /** The number of bytes that belong to no whole block. */
  get passedOver(): number {
    return this.#passedOver;
  }

  /** The index of the first row of the last process that wrote rows. */
  get lastBegin(): number {
    return this.#lastBegin;
  }

  /**
   * The rows that are whole with these bytes. Wait for the last call before the next one.
   *
   * @param bytes The bytes that follow those of the last call.
   */
  async add(bytes: Uint8Array): Promise<T[]> {
    const all = this.#rest.length > 0 ? concatenated(this.#rest, bytes) : bytes;
    const rows: T[] = [];
    let end = 0;
    this.#bytes += bytes.length;
    this.#passedOver += bytes.length;
    for (const block of blocksOf(all)) {
      ({ end } = block);
      await this.#read(block, rows);
    }
    this.#rest = all.slice(firstOpen(all, end));
    this.#rows += rows.length;
    return rows;
  }

  async #read({ kind, payload }: Block, rows: T[]): Promise<void> {
    try {
      if (kind === KIND.columns) {
        ({ columns: this.#columns } = JSON.parse(new TextDecoder().decode(payload)) as { columns: string[] });
        this.#begin = this.#rows + rows.length;
      } else if (kind === KIND.rows) {
        addRows(await inflate(payload, MOST_BLOCK_BYTES), this.#columns, rows as Row[]);
        if (this.#rows + rows.length > this.#begin) this.#lastBegin = this.#begin;
      }
    } catch {
      // The checksum is right, and the content is not what a recorder writes.
      return;
    }
    this.#passedOver -= BLOCK_HEADER_BYTES + payload.length;
  }
}

function concatenated(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

/** The version of the format of a file. Undefined: it has no records. */
export function versionOf(bytes: Uint8Array): string | undefined {
  const [, version] = /^ACR(.)/.exec(new TextDecoder('latin1').decode(bytes.subarray(0, 4))) ?? [];
  return version;
}

interface Block {
  readonly kind: number;
  readonly payload: Uint8Array;
  /** The place after the block. */
  readonly end: number;
}

function* blocksOf(bytes: Uint8Array): Generator<Block> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at + BLOCK_HEADER_BYTES <= bytes.length) {
    const payload = payloadAt(view, bytes, at);
    if (!payload) {
      at++;
      continue;
    }
    const end = at + BLOCK_HEADER_BYTES + payload.length;
    yield { kind: view.getUint32(at + 4, true), payload, end };
    at = end;
  }
}

function payloadAt(view: DataView, bytes: Uint8Array, at: number): Uint8Array | undefined {
  if (view.getUint32(at, true) !== MAGIC) return undefined;
  const from = at + BLOCK_HEADER_BYTES;
  const size = view.getUint32(at + 8, true);
  if (size > MOST_BLOCK_BYTES || from + size > bytes.length) return undefined;
  const payload = bytes.subarray(from, from + size);
  return crc32(payload) === view.getUint32(at + 12, true) ? payload : undefined;
}

/** The first place after whole blocks where one may begin whose end is still to come. */
function firstOpen(bytes: Uint8Array, end: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = end; at + BLOCK_HEADER_BYTES <= bytes.length; at++) {
    if (view.getUint32(at, true) !== MAGIC) continue;
    const size = view.getUint32(at + 8, true);
    if (size <= MOST_BLOCK_BYTES && at + BLOCK_HEADER_BYTES + size > bytes.length) return at;
  }
  return Math.max(end, bytes.length - BLOCK_HEADER_BYTES + 1);
}

/** Rows are stored by columns, which deflates better. Those without known columns are passed over. */
function addRows(payload: Uint8Array, columns: readonly string[], rows: Row[]): void {
  if (columns.length === 0 || payload.length % (8 * columns.length) !== 0) return;
  const values = new Float64Array(payload.slice().buffer);
  const count = values.length / columns.length;
  // Not by Object.fromEntries, which takes twice as long for a million rows.
  for (let row = 0; row < count; row++) {
    const figures: Record<string, number> = {};
    columns.forEach((name, column) => (figures[name] = values[column * count + row]!));
    rows.push(figures);
  }
}

/** A step with the figures of the machine while it ran. */
export interface JoinedStep extends StepRow {
  /** The last sample that was taken before the end of the step. Undefined before the first one. */
  readonly sample: SampleRow | undefined;
}

/** Joins steps and samples of a rank by time. Both are in the order of time. */
export function joinSamples(steps: readonly StepRow[], samples: readonly SampleRow[]): JoinedStep[] {
  let next = 0;
  return steps.map((step) => {
    while (next < samples.length && samples[next]!.time <= step.end) next++;
    return { ...step, sample: samples[next - 1] };
  });
}
