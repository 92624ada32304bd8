import { afterEach, describe, expect, it } from 'vitest';
import { liveTensors } from './memory.js';
import { operator } from './operator.js';
import { MemoryFlag, memoryFlags, tensorFrom } from './tensor.js';
import { TensorMemory } from './tensor-memory.js';

/** Node.js before 21 copies a buffer that cannot be transferred; later ones refuse to transfer it. */
function expectNotTransferable(buffer: ArrayBuffer): void {
  const { byteLength } = buffer;
  try {
    const copy = structuredClone(buffer, { transfer: [buffer] });
    expect(copy.byteLength).toBe(byteLength);
  } catch (error) {
    expect((error as Error).name).toBe('DataCloneError');
  }
  expect(buffer.byteLength).toBe(byteLength);
}

const transpose = operator('aten::transpose.int');
const before = liveTensors();
afterEach(() => expect(liveTensors()).toBe(before));

describe('memory of a tensor', () => {
  it('contains the elements themselves, and keeps them alive', () => {
    const x = tensorFrom(Float32Array.of(1, 2, 3), 'float32', [3]);
    const memory = new TensorMemory(x);
    expect(new Float32Array(memory.bytes.buffer)).toEqual(Float32Array.of(1, 2, 3));
    new Float32Array(memory.bytes.buffer)[1] = 7;
    expect(x.read()).toEqual(Float32Array.of(1, 7, 3));
    expect(memoryFlags([x])[0]! & MemoryFlag.exclusive).toBe(0);
    x.dispose();
    expect(new Float32Array(memory.bytes.buffer)[2]).toBe(3);
    memory.dispose();
    expect(memory.bytes).toHaveLength(0);
    memory.dispose();
  });

  it('is freed when it is disposed', () => {
    using x = tensorFrom(Int32Array.of(1), 'int32', [1]);
    new TensorMemory(x).dispose();
    expect(memoryFlags([x])[0]! & MemoryFlag.exclusive).not.toBe(0);
    // Again, at the same address.
    using memory = new TensorMemory(x);
    expect(memory.bytes).toHaveLength(4);
  });

  // A thread that got it would use the memory after its end.
  it('stays with the tensor if a program transfers it', () => {
    using x = tensorFrom(Float32Array.of(1, 2), 'float32', [2]);
    using memory = new TensorMemory(x);
    expectNotTransferable(memory.bytes.buffer as ArrayBuffer);
    expect(x.read()).toEqual(Float32Array.of(1, 2));
  });

  it('of an empty tensor is empty', () => {
    using x = tensorFrom(new Float32Array(0), 'float32', [0, 3]);
    using memory = new TensorMemory(x);
    expect(memory.bytes).toHaveLength(0);
  });

  it('is refused for strided tensors and for disposed ones', () => {
    using x = tensorFrom(Float32Array.of(1, 2, 3, 4), 'float32', [2, 2]);
    using other = transpose(x, 0, 1);
    const error = (code: string) => expect.objectContaining({ code }) as Error;
    expect(() => new TensorMemory(other)).toThrowError(error('ACC_INVALID_ARGUMENT'));
    const gone = tensorFrom(Float32Array.of(1), 'float32', [1]);
    gone.dispose();
    expect(() => new TensorMemory(gone)).toThrowError(error('ACC_TENSOR_DISPOSED'));
  });
});
