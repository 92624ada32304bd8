import { backend, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, isAccError, withoutHelp } from '@acc/contract';
import type { AccBackend } from '@acc/kernels';
import { bytesByOwner, giveMemory, memoryStats, setMemoryOwner } from '@acc/native';

/** The owners of memory, by their numbers in the addon. */
export const MEMORY_OWNERS = [
  'other',
  'parameters',
  'gradients',
  'optimizer state',
  'activations',
  'temporary',
] as const;
export type MemoryOwner = (typeof MEMORY_OWNERS)[number];

/** The bytes of each owner, in the order of {@link MEMORY_OWNERS}. */
export interface MemorySample {
  /** In milliseconds of `performance.now()`. */
  readonly at: number;
  readonly bytes: readonly number[];
}

export type BytesOfOwners = Readonly<Record<MemoryOwner, number>>;

/** The tensors of a training whose owner is known by what they are. */
export interface KnownTensors {
  parameters(): readonly Tensor[];
  optimizerState(): readonly Tensor[];
}

/** Makes `owner` the owner of all that is allocated from now on. */
export const allocateFor = (owner: MemoryOwner): void => setMemoryOwner(MEMORY_OWNERS.indexOf(owner));

export function give(tensors: readonly Tensor[], owner: MemoryOwner): void {
  const { heldNative } = backend() as Partial<AccBackend>;
  if (!heldNative || tensors.length === 0) return;
  const natives = tensors.flatMap((tensor) =>
    tensor.isDisposed ? [] : (heldNative.call(backend() as AccBackend, tensor) ?? []),
  );
  giveMemory(natives, MEMORY_OWNERS.indexOf(owner));
}

/** Gives parameters and the state of optimizers the memory that they hold now. */
export function giveKnown(known: KnownTensors): void {
  give(known.parameters(), 'parameters');
  give(known.optimizerState(), 'optimizer state');
}

/** The time between two samples of a step, at least, in milliseconds, until there are many. */
const SAMPLE_MS = 0.2;
const MOST_SAMPLES = 100_000;

/** The memory of each owner over time. On a GPU it stays empty: another allocator counts there. */
export class MemoryTimeline {
  #samples: MemorySample[] = [];
  #everyMs = SAMPLE_MS;
  /** The most bytes of tensors at one time. 0 before {@link end}. */
  peakBytes = 0;
  /** The bytes of each owner at that peak. Undefined before {@link end}, and on a GPU. */
  owners: BytesOfOwners | undefined;

  constructor(
    private readonly isOnHost: boolean,
    private readonly most = MOST_SAMPLES,
  ) {}

  get samples(): readonly MemorySample[] {
    return this.#samples;
  }

  /** Beyond a number of samples, every second one is left out, and later ones are rarer. */
  sample(at: number): void {
    if (!this.isOnHost) return;
    this.#samples.push({ at, bytes: bytesByOwner().now });
    if (this.#samples.length <= this.most) return;
    this.#samples = this.#samples.filter((_, i) => i % 2 === 0);
    this.#everyMs *= 2;
  }

  /** Samples if the last sample is not too new. */
  maySample(at: number): void {
    if (at - (this.#samples.at(-1)?.at ?? 0) >= this.#everyMs) this.sample(at);
  }

  end(): void {
    this.peakBytes = memoryStats().peakAllocatedBytes;
    if (this.isOnHost) this.owners = named(bytesByOwner().atPeak);
  }
}

function named(bytes: readonly number[]): BytesOfOwners {
  return Object.fromEntries(MEMORY_OWNERS.map((owner, i) => [owner, bytes[i]!])) as BytesOfOwners;
}

/** A table, those that hold most first. */
export function ownerLines(bytes: BytesOfOwners): string[] {
  return Object.entries(bytes)
    .filter(([, held]) => held > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([owner, held]) => `  ${owner.padEnd(16)}${(held / 2 ** 20).toFixed(1).padStart(10)} MiB`);
}

/** An error for lack of memory, with who holds it. Other errors are returned as they are. */
export function withOwners(error: unknown, known: KnownTensors): unknown {
  if (!isAccError(error, 'ACC_OUT_OF_MEMORY') || hasOwners(error)) return error;
  giveKnown(known);
  const owners = named(bytesByOwner().now);
  const lines = ownerLines(owners);
  if (lines.length === 0) return error;
  const { code, message, help } = error;
  const text = [withoutHelp(message), 'Memory of tensors, by who holds it:', ...lines].join('\n');
  return new AccError(code, text, { ...(help !== undefined && { help }), cause: error, details: { owners } });
}

const hasOwners = ({ details }: AccError): boolean => 'owners' in details;
