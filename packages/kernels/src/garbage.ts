import { totalmem } from 'node:os';
import { adjustExternalMemory, type Tensor as NativeTensor } from '@acc/native';
import type { NativeHandles, TensorData } from './tensor-data.js';

/** Tensors are watched when so many more are alive, */
const LEAST_COUNT = 1024;
/** or so many bytes. */
const LEAST_BYTES = 64 * 2 ** 20;
/** However patient the nursery has become, it never holds back more than this. */
const MAX_BYTES = totalmem() / 4;
const BYTES_PER_ELEMENT = 4;

/**
 * The net under tensors that are dropped without `dispose`: their native memory goes when JavaScript's garbage collector
 * finds them, and V8 is told of the bytes so that it keeps pace.
 *
 * Watching a tensor costs, and telling V8 of bytes makes it collect, so it is done for those only that nobody seems to
 * dispose. New tensors wait in a nursery until they are disposed; when more are alive there than its limits allow, they are
 * watched. Where the program then disposes them all the same (activations, until backward), the limits were too low and
 * double; where the collector has to free some, they fall back.
 *
 * The nursery lets go of a tensor at once: what is referred to outlives V8's frequent collections of young objects, and then
 * makes each of them slower.
 */
export class Garbage {
  /** Without gaps; {@link TensorData.nurseryPlace} is where in it. */
  readonly #nursery: TensorData[] = [];
  #bytes = 0;
  #countLimit = LEAST_COUNT;
  #bytesLimit = LEAST_BYTES;
  /** What was watched for nothing since the limits last changed. */
  #forgottenCount = 0;
  #forgottenBytes = 0;
  readonly #registry = new FinalizationRegistry<NativeHandles>(({ native, others }) => {
    adjustExternalMemory(-native.byteLength);
    native.dispose();
    for (const tensors of others) for (const tensor of tensors) tensor.dispose();
    this.#setLimits(LEAST_COUNT, LEAST_BYTES);
    this.onCollected();
  });

  /** @param onCollected Called for each tensor that the collector, not the program, has freed. */
  constructor(private readonly onCollected: () => void) {}

  /** To be called once there is something to free. */
  add(data: TensorData): void {
    if (!data.held) return;
    data.nurseryPlace = this.#nursery.length;
    this.#nursery.push(data);
    this.#bytes += estimatedBytes(data.held);
    if (this.#nursery.length >= this.#countLimit || this.#bytes >= this.#bytesLimit) this.#watchAll();
  }

  /** To be called before the program disposes data. */
  forget(data: TensorData): void {
    if (!data.held) return;
    if (data.nurseryPlace >= 0) this.#takeOut(data);
    else if (data.watched) this.#unwatch(data, data.held.byteLength);
  }

  #takeOut(data: TensorData): void {
    const last = this.#nursery.pop()!;
    if (last !== data) {
      this.#nursery[data.nurseryPlace] = last;
      last.nurseryPlace = data.nurseryPlace;
    }
    data.nurseryPlace = -1;
    this.#bytes -= estimatedBytes(data.held!);
  }

  #unwatch(data: TensorData, bytes: number): void {
    this.#registry.unregister(data);
    adjustExternalMemory(-bytes);
    data.watched = false;
    this.#forgottenCount++;
    this.#forgottenBytes += bytes;
    if (this.#forgottenCount > this.#countLimit / 2 || this.#forgottenBytes > this.#bytesLimit / 2) {
      this.#setLimits(2 * this.#countLimit, Math.min(2 * this.#bytesLimit, MAX_BYTES));
    }
  }

  #watchAll(): void {
    let bytes = 0;
    for (const data of this.#nursery) {
      data.nurseryPlace = -1;
      data.watched = true;
      bytes += data.held!.byteLength;
      this.#registry.register(data, data.handles(data.held!), data);
    }
    this.#nursery.length = 0;
    this.#bytes = 0;
    adjustExternalMemory(bytes);
  }

  #setLimits(count: number, bytes: number): void {
    this.#countLimit = count;
    this.#bytesLimit = bytes;
    this.#forgottenCount = 0;
    this.#forgottenBytes = 0;
  }
}

function estimatedBytes({ shape }: NativeTensor): number {
  let count = BYTES_PER_ELEMENT;
  for (const size of shape) count *= size;
  return count;
}
