import {
  AccError,
  isAccError,
  type NativeDtype,
  type StateLayer,
  type TensorPart,
  type UnfilledTensor,
} from '@acc/contract';
import { checksumOf } from '../checksum.js';
import { sharedRuns, wholeBox } from '../format/boxes.js';
import { elementBytes, elementsOf, nativeDtypeOf } from '../format/dtypes.js';
import { hexOf, type StoredPart, type StoredTensor } from '../format/manifest.js';
import { TensorMapper } from './map-stored.js';
import { corrupt, type Checkpoint } from './open.js';

/** What a rank wants of a checkpoint for one tensor that it holds. */
export interface Want {
  /** The stored tensor's name; those of its parts come before it. */
  readonly name: string;
  /** The shape and the parts of the tensor that is held; default: the whole stored tensor. */
  readonly held?: Held | undefined;
}

/** A tensor of a checkpoint that has all its elements. */
export type FilledTensor = Pick<UnfilledTensor, 'toTensor' | 'dispose'>;

interface Held {
  readonly shape: readonly number[];
  /** Default: it is a whole tensor. */
  readonly parts?: readonly TensorPart[] | undefined;
  /** The element type of a tensor without elements, which no stored tensor tells. Default float32. */
  readonly dtype?: NativeDtype;
}

/** Reads under way at the same time: as many as Node has threads for files. */
const READERS = 4;

/** One chunk of a stored part, and where its elements go. */
interface Job {
  readonly part: StoredPart;
  readonly chunk: number;
  /** First byte and length within the part. */
  readonly begin: number;
  readonly length: number;
  /** Where all of the chunk lies in one piece in memory; undefined: {@link scatter} takes it apart. */
  readonly target: Uint8Array | undefined;
  scatter(bytes: Uint8Array): void;
}

/**
 * Reads tensors, or the parts of them that are wanted, and compares checksums. Nothing is left of them when one fails.
 *
 * @returns One for each want; the caller's.
 * @throws AccError `ACC_CHECKPOINT_MISMATCH` for what the checkpoint does not hold, `ACC_CHECKPOINT_CORRUPT`,
 * `ACC_DTYPE_UNSUPPORTED`.
 */
export async function readTensors(
  checkpoint: Checkpoint,
  wants: readonly Want[],
  layer: StateLayer,
): Promise<FilledTensor[]> {
  const made: FilledTensor[] = [];
  try {
    const mapper = new TensorMapper(checkpoint, layer);
    const work: (() => Promise<void>)[] = [];
    for (const want of wants) {
      const { name, held } = want;
      const stored = held?.parts ? undefined : storedTensor(checkpoint, name);
      const shape = held?.shape ?? stored!.shape;
      const mapped = stored && (await mapper.map(name, stored, shape));
      const target = mapped ? undefined : layer.allocate(dtypeOf(checkpoint, want), shape);
      made.push(mapped?.tensor ?? target!);
      if (mapped) work.push(...mapped.checks);
      else work.push(...readsOf(checkpoint, want, target!.bytes, layer));
    }
    await runAll(work);
    return made;
  } catch (error) {
    for (const each of made) each.dispose();
    throw error;
  }
}

/** @throws AccError `ACC_CHECKPOINT_MISMATCH` where the stored tensors that a want is made of have several. */
function dtypeOf(checkpoint: Checkpoint, { name, held }: Want): NativeDtype {
  const names = held?.parts ? held.parts.map((part) => part.name ?? name) : [name];
  const dtypes = new Map(names.map((each) => [storedTensor(checkpoint, each).dtype, each]));
  if (dtypes.size > 1) {
    const listed = Array.from(dtypes, ([dtype, of]) => `'${of}' of ${dtype}`);
    throw new AccError(
      'ACC_CHECKPOINT_MISMATCH',
      `One tensor here has parts of ${listed.join(' and ')}: a tensor has one element type.`,
      { help: 'Save and load in the same precision.', details: { names: [...dtypes.values()] } },
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

/** All of a stored tensor, row-major. */
export async function readBytes(checkpoint: Checkpoint, name: string): Promise<Uint8Array<ArrayBuffer>> {
  const { dtype, shape } = storedTensor(checkpoint, name);
  const bytes = new Uint8Array(elementsOf(shape) * elementBytes(dtype));
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
  const parts = want.held?.parts ?? [{ shape: shape(), ...wholeBox(shape()), start: 0 }];
  return parts.flatMap((part) => jobsOfPart(checkpoint, part.name ?? want.name, part, target));
}

function jobsOfPart({ index }: Checkpoint, name: string, wanted: TensorPart, target: Uint8Array): Job[] {
  const stored = storedTensor({ index } as Checkpoint, name);
  requireShape(name, stored.shape, wanted.shape);
  const size = elementBytes(stored.dtype);
  let found = 0;
  const jobs = stored.parts.flatMap((part) => {
    const runs = [...sharedRuns(part, wanted)].map(({ from, to, length }) => {
      found += length;
      return { from: from * size, to: (wanted.start + to) * size, length: length * size };
    });
    const bytes = { part: elementsOf(part.sizes) * size, chunk: index.chunkBytes };
    return runs.length === 0 ? [] : chunksOf(part, runs, target, bytes);
  });
  if (found === elementsOf(wanted.sizes)) return jobs;
  throw new AccError(
    'ACC_CHECKPOINT_MISMATCH',
    `The checkpoint holds ${found} of the ${elementsOf(wanted.sizes)} elements of '${name}' that are wanted.`,
    { details: { name } },
  );
}

/** In bytes: of a part, and of the memory that is filled. */
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
    // Runs ascend, so that none before the first of this chunk matters to a later one.
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

/** Copies what is wanted of a chunk that begins at byte `begin` of its part. */
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
      throw corrupt(location, part.file, 'it is cut off or missing');
    throw error;
  }
  if (hexOf(await checksumOf(into, layer)) !== part.crc32[job.chunk]) {
    throw corrupt(location, part.file, `the elements of '${part.key}' are not those that were written`);
  }
  if (!target) job.scatter(into);
}

/** A few at a time. After one has failed no further one begins, and it waits for those under way. */
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
    `'${name}' has the shape [${stored.join()}] in the checkpoint, [${wanted.join()}] here.`,
    {
      help: 'Load it into the model and optimizer that it was saved from.',
      details: { name, stored, wanted },
    },
  );
}
