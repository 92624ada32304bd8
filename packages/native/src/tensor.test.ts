import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { NativeDtype } from '@acc/contract';
import { describe, expect, it } from 'vitest';
import { liveTensors, memoryStats, resetPeakMemory } from './memory.js';
import { operator, operatorInPlace } from './operator.js';
import { MemoryFlag, memoryFlags, memoryPart, Tensor, tensorFrom } from './tensor.js';

describe('tensors', () => {
  it.each<[NativeDtype, NodeJS.TypedArray]>([
    ['float32', Float32Array.of(1.5, -0, NaN, Infinity)],
    ['float64', Float64Array.of(1.1, 2, 3, 4)],
    ['int32', Int32Array.of(1, -2, 2 ** 31 - 1, 0)],
    ['int64', BigInt64Array.of(1n, -2n, 2n ** 62n, 0n)],
    ['int16', Int16Array.of(1, -2, 3, 0)],
    ['int8', Int8Array.of(1, -2, 3, 0)],
    ['uint8', Uint8Array.of(1, 255, 3, 0)],
    ['bool', Uint8Array.of(1, 0, 1, 0)],
    ['bfloat16', Uint16Array.of(0x3f80, 0xc000, 0, 0x7f80)],
    ['float16', Uint16Array.of(0x3c00, 0xc000, 0, 0x7c00)],
    ['uint16' as NativeDtype, Uint16Array.of(1, 2 ** 16 - 1, 3, 0)],
    ['uint32' as NativeDtype, Uint32Array.of(1, 2 ** 32 - 1, 3, 0)],
    ['uint64' as NativeDtype, BigUint64Array.of(1n, 2n ** 64n - 1n, 3n, 0n)],
  ])('%s values are read as they were written', (dtype, values) => {
    using tensor = tensorFrom(values, dtype, [2, 2]);
    expect(tensor.read()).toEqual(values);
    expect(tensor).toMatchObject({ dtype, shape: [2, 2] });
  });

  it('can be read on another thread, with the values at the time of the call', async () => {
    const tensor = tensorFrom(Float32Array.of(1, 2), 'float32', [2]);
    const read = tensor.readAsync('float64');
    tensor.dispose();
    expect(await read).toEqual(Float64Array.of(1, 2));
    await expect(tensor.readAsync()).rejects.toMatchObject({ code: 'ACC_TENSOR_DISPOSED' });
  });

  it('complex64 stores real and imaginary parts alternately', () => {
    using tensor = tensorFrom(Float32Array.of(1, 2, 3, 4), 'complex64', [2]);
    expect(tensor.read()).toEqual(Float32Array.of(1, 2, 3, 4));
  });

  it('converts 16-bit floats when they are read as float32', () => {
    using tensor = tensorFrom(Uint16Array.of(0x3f80, 0xc000), 'bfloat16', [2]);
    expect(tensor.read('float32')).toEqual(Float32Array.of(1, -2));
  });

  it('are read from a view into a larger buffer, and are copies', () => {
    const buffer = Float32Array.of(0, 1, 2, 3);
    using tensor = tensorFrom(buffer.subarray(1, 3), 'float32', [2]);
    buffer.fill(9);
    expect(tensor.read()).toEqual(Float32Array.of(1, 2));
  });

  it('use the memory of an array that is given away, and give it back', () => {
    const values = Float32Array.of(1, 2, 3, 4);
    const tensor = Tensor.over(values, 'float32', [2, 2]);
    operatorInPlace('aten::mul_.Scalar')(tensor, 2);
    expect(tensor.take()).toBe(values);
    expect([...values]).toEqual([2, 4, 6, 8]);
    expect(tensor.isDisposed).toBe(true);
    expect(() => tensor.take()).toThrow(expect.objectContaining({ code: 'ACC_TENSOR_DISPOSED' }) as Error);
  });

  it('keep an array alive as long as a view of it lives', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const counts = { collected: 0 };
    const registry = new FinalizationRegistry<number>((n) => (counts.collected += n));
    const collected = async (wanted: number) => {
      while (counts.collected < wanted) {
        collectGarbage();
        await new Promise(setImmediate);
      }
    };
    const view = (() => {
      const values = Float32Array.from({ length: 1000 }, (_, i) => i);
      registry.register(values, 1);
      using whole = Tensor.over(values, 'float32', [1000]);
      return memoryPart(whole, 998, 2);
    })();
    const other = (() => {
      const values = new Float32Array(1000);
      registry.register(values, 1);
      return Tensor.over(values, 'float32', [1000]);
    })();
    other.dispose();
    await collected(1);
    expect([...view.read()]).toEqual([998, 999]);
    view.dispose();
    await collected(2);
    expect(counts.collected).toBe(2);
  });

  it('over an array with another number of elements is refused, and the array is let go', () => {
    expect(() => Tensor.over(new Float32Array(3), 'float32', [2])).toThrow(
      expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }) as Error,
    );
  });

  it('a copy is taken from a tensor that has another handle', () => {
    const values = Float32Array.of(1, 2);
    const tensor = Tensor.over(values, 'float32', [2]);
    using other = tensor.alias();
    const taken = tensor.take();
    expect(taken).toEqual(values);
    expect(taken).not.toBe(values);
    expect([...other.read()]).toEqual([1, 2]);
  });

  it('are read row by row if they are strided', () => {
    using tensor = tensorFrom(Float32Array.of(1, 2, 3, 4, 5, 6), 'float32', [2, 3]);
    using transposed = operator('aten::t')(tensor);
    expect(transposed.shape).toEqual([3, 2]);
    expect(transposed.read()).toEqual(Float32Array.of(1, 4, 2, 5, 3, 6));
  });

  it('can be scalars and empty', () => {
    using scalar = tensorFrom(Float32Array.of(3), 'float32', []);
    using empty = tensorFrom(new Float32Array(), 'float32', [0, 4]);
    expect([...scalar.read()]).toEqual([3]);
    expect(empty.read()).toHaveLength(0);
  });

  it('keep their memory through an alias', () => {
    const tensor = tensorFrom(Float32Array.of(1, 2), 'float32', [2]);
    using alias = tensor.alias();
    tensor.dispose();
    expect(alias.read()).toEqual(Float32Array.of(1, 2));
  });

  it('know whether others share their memory, and whether they are row-major', () => {
    const both = MemoryFlag.contiguous | MemoryFlag.exclusive;
    using matrix = tensorFrom(new Float32Array(6), 'float32', [2, 3]);
    using scalar = tensorFrom(Float32Array.of(1), 'float32', []);
    using empty = tensorFrom(new Float32Array(), 'float32', [0]);
    expect([...memoryFlags([matrix, scalar, empty])]).toEqual([both, both, both]);
    const transposed = operator('aten::t')(matrix);
    expect([...memoryFlags([matrix, transposed])]).toEqual([MemoryFlag.contiguous, 0]);
    transposed.dispose();
    const alias = matrix.alias();
    expect([...memoryFlags([matrix])]).toEqual([MemoryFlag.contiguous]);
    alias.dispose();
    expect([...memoryFlags([matrix])]).toEqual([both]);
    expect([...memoryFlags([])]).toEqual([]);
    expect(() => memoryFlags([alias])).toThrowError(expect.objectContaining({ code: 'ACC_TENSOR_DISPOSED' }));
  });

  it('refuse values that do not fit the shape', () => {
    expect(() => tensorFrom(Float32Array.of(1, 2, 3), 'float32', [2])).toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }),
    );
  });

  it('refuse use after dispose, also if their slot is used again', () => {
    const tensor = tensorFrom(Float32Array.of(1), 'float32', [1]);
    tensor.dispose();
    tensor.dispose();
    using other = tensorFrom(Float32Array.of(2), 'float32', [1]);
    expect(() => tensor.read()).toThrowError(expect.objectContaining({ code: 'ACC_TENSOR_DISPOSED' }));
    expect(() => operator('aten::neg')(tensor)).toThrowError(
      expect.objectContaining({ code: 'ACC_TENSOR_DISPOSED' }),
    );
    expect([...other.read()]).toEqual([2]);
  });
});

describe('native memory', () => {
  it('counts the bytes that tensors hold, and falls when they are disposed', () => {
    const before = { ...memoryStats(), live: liveTensors() };
    const tensor = tensorFrom(new Float32Array(1 << 20), 'float32', [1 << 20]);
    const during = memoryStats();
    expect(during.allocatedBytes - before.allocatedBytes).toBeGreaterThanOrEqual(4 << 20);
    expect(liveTensors()).toBe(before.live + 1);
    tensor.dispose();
    expect(memoryStats().allocatedBytes).toBe(before.allocatedBytes);
    expect(memoryStats().peakAllocatedBytes).toBeGreaterThanOrEqual(during.allocatedBytes);
    resetPeakMemory();
    expect(memoryStats().peakAllocatedBytes).toBe(before.allocatedBytes);
  });

  it('uses freed blocks again', () => {
    const allocate = () => tensorFrom(new Float32Array(1 << 18), 'float32', [1 << 18]).dispose();
    allocate();
    const { reservedBytes } = memoryStats();
    for (let i = 0; i < 100; i++) allocate();
    expect(memoryStats().reservedBytes).toBe(reservedBytes);
  });
});

describe('a part of the memory of a tensor', () => {
  const double = operatorInPlace('aten::mul_.Scalar');

  it('is changed with the tensor, keeps its memory, and counts as its only user', () => {
    const both = MemoryFlag.contiguous | MemoryFlag.exclusive;
    const before = memoryStats().allocatedBytes;
    const whole = tensorFrom(Float32Array.of(1, 2, 3, 4), 'float32', [2, 2]);
    const part = memoryPart(whole, 1, 2);
    expect(part).toMatchObject({ dtype: 'float32', shape: [2] });
    double(part, 2);
    expect(whole.read()).toEqual(Float32Array.of(1, 4, 6, 4));
    expect([...memoryFlags([part])]).toEqual([both]);
    const view = operator('aten::reshape')(part, [1, 2]);
    expect([...memoryFlags([part])]).toEqual([MemoryFlag.contiguous]);
    view.dispose();
    whole.dispose();
    expect(memoryStats().allocatedBytes).toBeGreaterThan(before);
    expect(part.read()).toEqual(Float32Array.of(4, 6));
    part.dispose();
    expect(memoryStats().allocatedBytes).toBe(before);
  });

  it('may be empty, and must lie within the memory', () => {
    using whole = tensorFrom(Float32Array.of(1, 2, 3, 4), 'float32', [2, 2]);
    using empty = memoryPart(whole, 4, 0);
    expect(empty.read()).toHaveLength(0);
    using turned = operator('aten::t')(whole);
    const wrong: (() => unknown)[] = [
      () => memoryPart(whole, 3, 2),
      () => memoryPart(whole, -1, 2),
      () => memoryPart(turned, 0, 2),
    ];
    for (const call of wrong)
      expect(call).toThrowError(expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }));
  });
});
