import type { Tensor } from '@tensorflow/tfjs-core';
import type { DividedMemory, DivideMemory } from '@acc/contract';
import {
  MemoryFlag,
  memoryFlags,
  memoryPart,
  operator,
  operatorInPlace,
  type Tensor as NativeTensor,
} from '@acc/native';
import type { AccBackend } from '../backend.js';

const clone = operator('aten::clone');
const copyInto = operatorInPlace('aten::copy_');

const ROW_MAJOR = 0;
const OWN_BLOCK = MemoryFlag.contiguous | MemoryFlag.exclusive;

/** Divides memory of the backend `acc`. Parts have storages of their own, so libtorch sees no sharing. */
export function divideMemoryOn(backend: AccBackend): DivideMemory {
  return (given, ranges) => {
    const { size, dtype } = given;
    using memory = ownBlock(backend, given)?.alias() ?? clone(backend.native(given), ROW_MAJOR);
    given.dispose();
    return {
      memory: new NativeMemory(memoryPart(memory, 0, size), dtype, backend),
      parts: ranges.map(({ begin, end }) => backend.tensorOf(memoryPart(memory, begin, end - begin), dtype)),
    };
  };
}

/** The native tensor of `x`, if nothing else uses its memory. Borrowed. */
function ownBlock(backend: AccBackend, x: Tensor): NativeTensor | undefined {
  const native = backend.nativeToWrite(x);
  return native && memoryFlags([native])[0] === OWN_BLOCK ? native : undefined;
}

class NativeMemory implements DividedMemory {
  /** Undefined between {@link take} and {@link put}. tfjs does not count it as a tensor. */
  #whole: NativeTensor | undefined;

  constructor(
    full: NativeTensor,
    private readonly dtype: Tensor['dtype'],
    private readonly backend: AccBackend,
  ) {
    this.#whole = full;
  }

  get isUnused(): boolean {
    return this.#whole !== undefined && memoryFlags([this.#whole])[0] === OWN_BLOCK;
  }

  take(): Tensor {
    const full = this.#whole!;
    this.#whole = undefined;
    return this.backend.tensorOf(full, this.dtype);
  }

  put(full: Tensor): void {
    this.#whole = this.backend.native(full).alias();
    full.dispose();
  }

  write(part: Tensor, values: Tensor): boolean {
    const native = ownBlock(this.backend, part);
    if (!native) return false;
    copyInto(native, this.backend.native(values));
    return true;
  }

  dispose(): void {
    this.#whole?.dispose();
    this.#whole = undefined;
  }
}
