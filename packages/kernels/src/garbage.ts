import { totalmem } from 'node:os';
import { adjustExternalMemory } from '@acc/native';
import type { NativeHandles, TensorData } from './tensor-data.js';

/** New data is looked at again when this many more have come, */
const SWEEP_COUNT = 1024;
/** or so many bytes. */
const SWEEP_BYTES = 64 * 2 ** 20;
/** However patient the nursery has become, it never holds back more than this. */
const MAX_BYTES = totalmem() / 4;
const BYTES_PER_ELEMENT = 4;

/**
 * The net under tensors that are dropped without `dispose`: their native memory goes when JavaScript's garbage collector
 * finds them, and V8 is told of the bytes so that it keeps pace.
 *
 * Watching a tensor costs, and telling V8 of bytes makes it collect, so it is done for those only that nobody seems to
 * dispose. New tensors wait in a nursery; when more are alive there than its limits allow, they are watched. Where the
 * program then disposes them all the same (activations, until backward), the limits were too low and double; where the
 * collector has to free some, they fall back.
 */
export class Garbage {
  #nursery: TensorData[] = [];
  #newCount = 0;
  #newBytes = 0;
  #sweepCount = SWEEP_COUNT;
  #sweepBytes = SWEEP_BYTES;
  #countLimit = SWEEP_COUNT;
  #bytesLimit = SWEEP_BYTES;
  /** What was watched for nothing since the limits last changed. */
  #forgottenCount = 0;
  #forgottenBytes = 0;
  readonly #registry = new FinalizationRegistry<NativeHandles>(({ native, others }) => {
    adjustExternalMemory(-native.byteLength);
    native.dispose();
    for (const tensors of others) for (const tensor of tensors) tensor.dispose();
    this.#setLimits(SWEEP_COUNT, SWEEP_BYTES);
    this.onCollected();
  });

  /** @param onCollected Called for each tensor that the collector, not the program, has freed. */
  constructor(private readonly onCollected: () => void) {}

  add(data: TensorData): void {
    this.#nursery.push(data);
    this.#newCount++;
    this.#newBytes += estimatedBytes(data);
    if (this.#newCount >= this.#sweepCount || this.#newBytes >= this.#sweepBytes) this.#sweep();
  }

  /** To be called before watched data is disposed by the program. */
  forget(data: TensorData): void {
    if (!data.watched || !data.held) return;
    const bytes = data.held.byteLength;
    this.#registry.unregister(data);
    adjustExternalMemory(-bytes);
    data.watched = false;
    this.#forgottenCount++;
    this.#forgottenBytes += bytes;
    if (this.#forgottenCount > this.#countLimit / 2 || this.#forgottenBytes > this.#bytesLimit / 2) {
      this.#setLimits(2 * this.#countLimit, Math.min(2 * this.#bytesLimit, MAX_BYTES));
    }
  }

  /** Forgets what was disposed; watches what is alive when that is more than the limits. */
  #sweep(): void {
    let bytes = 0;
    const alive = this.#nursery.filter((data) => {
      if (!data.held || data.held.isDisposed) return false;
      bytes += estimatedBytes(data);
      return true;
    });
    const isFull = alive.length >= this.#countLimit || bytes >= this.#bytesLimit;
    if (isFull) this.#watch(alive);
    this.#nursery = isFull ? [] : alive;
    // Sweeps get rarer as the nursery grows, so that each tensor is looked at a few times only.
    this.#sweepCount = Math.max(SWEEP_COUNT, this.#nursery.length);
    this.#sweepBytes = Math.max(SWEEP_BYTES, isFull ? 0 : bytes);
    this.#newCount = 0;
    this.#newBytes = 0;
  }

  #watch(tensors: readonly TensorData[]): void {
    let bytes = 0;
    for (const data of tensors) {
      data.watched = true;
      bytes += data.held!.byteLength;
      this.#registry.register(data, data.handles(data.held!), data);
    }
    if (bytes > 0) adjustExternalMemory(bytes);
  }

  #setLimits(count: number, bytes: number): void {
    this.#countLimit = count;
    this.#bytesLimit = bytes;
    this.#forgottenCount = 0;
    this.#forgottenBytes = 0;
  }
}

function estimatedBytes({ held }: TensorData): number {
  if (!held) return 0;
  let count = BYTES_PER_ELEMENT;
  for (const size of held.shape) count *= size;
  return count;
}
