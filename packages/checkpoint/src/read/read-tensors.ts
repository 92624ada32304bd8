import {
  AccError,
  isAccError,
  runsOfShard,
  type NativeDtype,
  type StateLayer,
  type TensorShard,
  type UnfilledTensor,
} from '@acc/contract';
import { checksumOf } from '../checksum.js';
import { sharedRuns, fullBox } from '../format/boxes.js';
import { elementBytes, elementsOf, nativeDtypeOf } from '../format/dtypes.js';
import { hexOf, type StoredPart, type StoredTensor } from '../format/manifest.js';
import { TensorMapper } from './map-stored.js';
import { corrupt, type Checkpoint } from './open.js';

/** A tensor that a rank holds and reads from a checkpoint. */
export interface Want {
  /** The name of the stored tensor. Names in `held.shards` take precedence. */
  readonly name: string;
  /**
   * The shape and the shards of the tensor that this rank holds. Default: the whole stored tensor.
   */
  readonly held?: Held | undefined;
}

/** A tensor of a checkpoint whose elements have all been read or mapped. */
export type FilledTensor = Pick<UnfilledTensor, 'toTensor' | 'dispose'>;

interface Held {
  readonly shape: readonly number[];
  /** Default: the tensor is whole. */
  readonly shards?: readonly TensorShard[] | undefined;
  /** The dtype if `shards` is empty, because then no stored tensor gives one. Default float32. */
  readonly dtype?: NativeDtype;
}

/** The number of concurrent reads. It equals the number of threads that Node.js uses for files. */
const READERS = 4;

/** One chunk of a stored part, and the destination of its elements. */
interface Job {
  readonly part: StoredPart;
  readonly chunk: number;
  /** The first byte and the length, relative to the part. */
  readonly begin: number;
  readonly length: number;
  /**
   * The destination if all of the chunk is contiguous in memory. Undefined: {@link scatter} copies
   * its items.
   */
  readonly target: Uint8Array | undefined;
  scatter(bytes: Uint8Array): void;
}

/**
 * Reads tensors, or the requested parts of them, and verifies checksums. If one read fails, all
 * tensors are disposed.
 *
 * @returns One tensor for each want. The caller disposes them.
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` for elements that the checkpoint does not hold,
 * `ACC_CHECKPOINT_CORRUPT`, `ACC_DTYPE_UNSUPPORTED`.
 */
export async function readTensors(
  checkpoint: Checkpoint,
  wants: readonly Want[],
  layer: StateLayer,
): Promise<FilledTensor[]> {
  const created: FilledTensor[] = [];
  try {
    const mapper = new TensorMapper(checkpoint, layer);
    const work: (() => Promise<void>)[] = [];
    for (const want of wants) {
      const { name, held } = want;
      const stored = held?.shards ? undefined : storedTensor(checkpoint, name);
      const shape = held?.shape ?? stored!.shape;
      const mapped = stored && (await mapper.map(name, stored, shape));
      const target = mapped ? undefined : layer.allocate(dtypeOf(checkpoint, want), shape);
      created.push(mapped?.tensor ?? target!);
      if (mapped) work.push(...mapped.checks);
      else work.push(...readsOf(checkpoint, want, target!.bytes, layer));
    }
    await runAll(work);
    return created;
  } catch (error) {
    for (const each of created) each.dispose();
    throw error;
  }
}

/**
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` if the stored parts of one tensor have different
 * dtypes.
 */
function dtypeOf(checkpoint: Checkpoint, { name, held }: Want): NativeDtype {
  const names = held?.shards ? held.shards.map((shard) => shard.name ?? name) : [name];
  const dtypes = new Map(names.map((each) => [storedTensor(checkpoint, each).dtype, each]));
  if (dtypes.size > 1) {
    const listed = Array.from(dtypes, ([dtype, of]) => `'${of}' (${dtype})`);
    throw new AccError(
      'ACC_CHECKPOINT_MISMATCH',
      `The stored parts of one tensor have different dtypes: ${listed.join(', ')}.`,
      { help: 'Save and load with the same precision.', details: { names: [...dtypes.values()] } },
    );
  }
  const [first] = dtypes;
  return first ? nativeDtypeOf(first[0], first[1]) : (held?.dtype ?? 'float32');
}

export function storedTensor({ index, location }: Checkpoint, name: string): StoredTensor {
  const stored = Object.hasOwn(index.tensors, name) ? index.tensors[name] : undefined;
  if (stored) return stored;
  throw new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The checkpoint in ${location.storage.location} has no tensor '${name}'.`,
    { help: 'Load it into the model and optimizer that it was saved from.', details: { name } },
  );
}

/** The number of bytes of a whole stored tensor. */
export function byteLengthOf({ dtype, shape }: Pick<StoredTensor, 'dtype' | 'shape'>): number {
  return elementsOf(shape) * elementBytes(dtype);
}

/**
 * The bytes of a whole stored tensor, row-major.
 *
 * @param into Has their number of bytes.
 */
export async function readBytes(
  checkpoint: Checkpoint,
  name: string,
  into?: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = into ?? new Uint8Array(byteLengthOf(storedTensor(checkpoint, name)));
  await runAll(readsOf(checkpoint, { name }, bytes));
  return bytes;
}

function readsOf(
  checkpoint: Checkpoint,
  want: Want,
  target: Uint8Array,
  layer?: StateLayer,
): (() => Promise<void>)[] {
  return jobsOf(checkpoint, want, target).map((job) => () => readChunk(checkpoint, job, layer));
}

function jobsOf(checkpoint: Checkpoint, want: Want, target: Uint8Array): Job[] {
  const shape = () => want.held?.shape ?? storedTensor(checkpoint, want.name).shape;
  const shards = want.held?.shards ?? [{ shape: shape(), ...fullBox(shape()), start: 0 }];
  return shards.flatMap((shard) => jobsOfShard(checkpoint, shard.name ?? want.name, shard, target));
}

function jobsOfShard({ index }: Checkpoint, name: string, wanted: TensorShard, target: Uint8Array): Job[] {
  const stored = storedTensor({ index } as Checkpoint, name);
  requireShape(name, stored.shape, wanted.shape);
  const size = elementBytes(stored.dtype);
  let found = 0;
  const jobs = stored.parts.flatMap((part) => {
    const runs = [...sharedRuns(part, wanted)].flatMap(({ from, to, length }) => {
      found += length;
      return Array.from(runsOfShard(wanted, to, length), (run) => ({
        from: (from + run.inBox - to) * size,
        to: run.inVariable * size,
        length: run.length * size,
      }));
    });
    const bytes = { part: elementsOf(part.sizes) * size, chunk: index.chunkBytes };
    return runs.length === 0 ? [] : chunksOf(part, runs, target, bytes);
  });
  if (found === elementsOf(wanted.sizes)) return jobs;
  throw new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The checkpoint has only ${found} of the ${elementsOf(wanted.sizes)} requested elements of '${name}'.`,
    { help: 'Some of its parts are missing. Load another checkpoint.', details: { name } },
  );
}

/**
 * A run of elements in bytes: `from` is relative to the part, `to` to the memory that is filled.
 */
interface ByteRun {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

function chunksOf(
  part: StoredPart,
  runs: readonly ByteRun[],
  target: Uint8Array,
  bytes: { readonly part: number; readonly chunk: number },
): Job[] {
  const jobs: Job[] = [];
  let first = 0;
  part.crc32.forEach((_, chunk) => {
    const begin = chunk * bytes.chunk;
    const length = Math.min(bytes.chunk, bytes.part - begin);
    // Runs ascend, so a run that ends before this chunk is not needed for later chunks either.
    while (first < runs.length && runs[first]!.from + runs[first]!.length <= begin) first++;
    const run = runs[first];
    if (!run || run.from >= begin + length) return;
    const isInOnePiece = run.from <= begin && run.from + run.length >= begin + length;
    const at = run.to + begin - run.from;
    const start = first;
    jobs.push({
      part,
      chunk,
      begin,
      length,
      target: isInOnePiece ? target.subarray(at, at + length) : undefined,
      scatter: (read) => scatter(read, begin, runs, start, target),
    });
  });
  return jobs;
}

/** Copies the requested bytes of a chunk that begins at byte `begin` of its part. */
function scatter(
  chunk: Uint8Array,
  begin: number,
  runs: readonly ByteRun[],
  start: number,
  target: Uint8Array,
): void {
  const end = begin + chunk.length;
  for (let i = start; i < runs.length && runs[i]!.from < end; i++) {
    const { from, to, length } = runs[i]!;
    const [a, b] = [Math.max(from, begin), Math.min(from + length, end)];
    target.set(chunk.subarray(a - begin, b - begin), to + a - from);
  }
}

async function readChunk({ location }: Checkpoint, job: Job, layer?: StateLayer): Promise<void> {
  const { part, begin, length, target } = job;
  const into = target ?? new Uint8Array(length);
  try {
    await location.storage.get(location.prefix + part.file, { start: part.start + begin, into });
  } catch (error) {
    if (isAccError(error, 'ACC_STORAGE_NOT_FOUND'))
      throw corrupt(location, part.file, 'it is truncated or missing');
    throw error;
  }
  if (hexOf(await checksumOf(into, layer)) !== part.crc32[job.chunk]) {
    throw corrupt(location, part.file, `the checksum of '${part.key}' does not match`);
  }
  if (!target) job.scatter(into);
}

/**
 * Runs a few jobs at a time. After a failure it starts no further job and waits for the running
 * ones.
 */
async function runAll(jobs: readonly (() => Promise<void>)[]): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    try {
      while (next < jobs.length) await jobs[next++]!();
    } catch (error) {
      next = jobs.length;
      throw error;
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: READERS }, work));
  const failed = ended.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
}

function requireShape(name: string, stored: readonly number[], wanted: readonly number[]): void {
  if (stored.join() === wanted.join()) return;
  throw new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `'${name}' has the shape [${stored.join()}] in the checkpoint, but [${wanted.join()}] here.`,
    {
      help: 'Load it into the model and optimizer that it was saved from.',
      details: { name, stored, wanted },
    },
  );
}
