import { totalmem } from 'node:os';
import { adjustExternalMemory, totalDeviceMemory } from '@acc/native';
import type { NativeHandles, TensorData } from './tensor-data.js';

/** The lowest limit of undisposed tensors in the nursery; at the limit, they are watched. */
const LEAST_COUNT = 1024;
/** The same limit in bytes. */
const LEAST_BYTES = 64 * 2 ** 20;
/** The highest limit, as a fraction of the memory in which tensors are. */
const MAX_SHARE = 1 / 4;
const BYTES_PER_ELEMENT = 4;
/** Below, one tensor is not worth the watching. */
const LEAST_WATCHED_BYTES = 128 * 2 ** 10;

/**
 * Frees the native memory of tensors that are dropped without `dispose`, once JavaScript's garbage
 * collector finds them. V8 is told of the bytes, so that it collects often enough.
 *
 * Watching a tensor takes time, and telling V8 of bytes makes it collect. So only tensors that
 * probably stay undisposed are watched. New tensors wait in a nursery until they are disposed. When
 * the nursery exceeds its limits, all its tensors are watched. If the program then disposes many of
 * them anyway (activations that live until backward), the limits were too low and double. If the
 * collector frees a tensor, the limits are reset.
 *
 * The nursery removes a disposed tensor at once: a referenced tensor would survive V8's frequent
 * collections of young objects, and would slow down each of them.
 */
export class Garbage {
  /** An array without gaps; {@link TensorData.nurseryPlace} is the index in it. */
  readonly #nursery: TensorData[] = [];
  #bytes = 0;
  #countLimit = LEAST_COUNT;
  #bytesLimit = LEAST_BYTES;
  /** Tensors that were watched and then disposed by the program, since the limits last changed. */
  #forgottenCount = 0;
  #forgottenBytes = 0;
  readonly #registry = new FinalizationRegistry<NativeHandles>(({ native, pending, others }) => {
    adjustExternalMemory(-(native ?? pending!).byteLength);
    native?.dispose();
    pending?.releaseData();
    for (const tensors of others) for (const tensor of tensors) tensor.dispose();
    this.#setLimits(LEAST_COUNT, LEAST_BYTES);
    this.onCollected();
  });

  /** @param onCollected Called for each tensor that the collector, not the program, has freed. */
  constructor(private readonly onCollected: () => void) {}

  /** Adds data. Call it once the data has a native tensor or waits for it. */
  add(data: TensorData): void {
    const { heldShape } = data;
    if (!heldShape) return;
    data.nurseryPlace = this.#nursery.length;
    this.#nursery.push(data);
    this.#bytes += estimatedBytes(heldShape);
    if (this.#nursery.length >= this.#countLimit || this.#bytes >= this.#bytesLimit) this.#watchAll();
  }

  /** Data that waited has its native tensor now, which has as many bytes. */
  readonly noteComputed = (data: TensorData): void => {
    if (!data.watched) return;
    this.#registry.unregister(data);
    this.#registry.register(data, data.handles(), data);
  };

  /** Watches data at once. For data that its program probably dropped. Small data waits with others. */
  watch(data: TensorData): void {
    if (data.nurseryPlace < 0 || data.heldBytes < LEAST_WATCHED_BYTES) return;
    this.#takeOut(data);
    adjustExternalMemory(this.#register(data));
  }

  /** Removes data. Call it before the program disposes the data. */
  forget(data: TensorData): void {
    if (!data.heldShape) return;
    if (data.nurseryPlace >= 0) this.#takeOut(data);
    else if (data.watched) this.#unwatch(data, data.heldBytes);
  }

  #takeOut(data: TensorData): void {
    const last = this.#nursery.pop()!;
    if (last !== data) {
      this.#nursery[data.nurseryPlace] = last;
      last.nurseryPlace = data.nurseryPlace;
    }
    data.nurseryPlace = -1;
    this.#bytes -= estimatedBytes(data.heldShape!);
  }

  #unwatch(data: TensorData, bytes: number): void {
    this.#registry.unregister(data);
    adjustExternalMemory(-bytes);
    data.watched = false;
    this.#forgottenCount++;
    this.#forgottenBytes += bytes;
    if (this.#forgottenCount > this.#countLimit / 2 || this.#forgottenBytes > this.#bytesLimit / 2) {
      this.#setLimits(2 * this.#countLimit, Math.min(2 * this.#bytesLimit, mostBytes()));
    }
  }

  #watchAll(): void {
    let bytes = 0;
    for (const data of this.#nursery) bytes += this.#register(data);
    this.#nursery.length = 0;
    this.#bytes = 0;
    adjustExternalMemory(bytes);
  }

  /** Returns the bytes of the data. */
  #register(data: TensorData): number {
    data.nurseryPlace = -1;
    data.watched = true;
    this.#registry.register(data, data.handles(), data);
    return data.heldBytes;
  }

  #setLimits(count: number, bytes: number): void {
    this.#countLimit = count;
    this.#bytesLimit = bytes;
    this.#forgottenCount = 0;
    this.#forgottenBytes = 0;
  }
}

/** The highest limit in bytes. */
const mostBytes = (): number => MAX_SHARE * (totalDeviceMemory() || totalmem());

function estimatedBytes(shape: readonly number[]): number {
  let count = BYTES_PER_ELEMENT;
  for (const size of shape) count *= size;
  return count;
}
