import * as tf from '@tensorflow/tfjs';
import { beforeEach, describe, expect, it } from 'vitest';
import { memoryStats, resetPeakMemory, setNumThreads } from '@acc/native';
import { registerAccBackend } from './register-backend.js';

registerAccBackend();
beforeEach(() => tf.setBackend('acc'));

/** A layer, its loss and tfjs's own gradients: kernels of many kinds. */
function work(): tf.Tensor {
  const x = tf.sin(tf.range(0, 24)).reshape([4, 6]) as tf.Tensor2D;
  const w = tf.cos(tf.range(0, 18)).reshape([6, 3]) as tf.Tensor2D;
  return tf.grad((v) =>
    tf
      .exp(tf.matMul(x, v as tf.Tensor2D))
      .square()
      .sum(),
  )(w);
}

describe('tf.memory', () => {
  it('counts tensors and bytes as on cpu, and also native bytes', async () => {
    const counts = async (backend: string) => {
      await tf.setBackend(backend);
      const before = tf.memory();
      const tensors = [
        tf.zeros([100, 100]),
        tf.ones([7], 'int32'),
        tf.tensor(['a', 'bc']),
        tf.ones([5], 'bool'),
      ];
      const view = tensors[0]!.reshape([10_000]);
      const { numTensors, numDataBuffers, numBytes } = tf.memory();
      tf.dispose([tensors, view]);
      expect(tf.memory()).toMatchObject({
        numTensors: before.numTensors,
        numDataBuffers: before.numDataBuffers,
        numBytes: before.numBytes,
      });
      return [numTensors, numDataBuffers, numBytes].map((count, i) => {
        return count - [before.numTensors, before.numDataBuffers, before.numBytes][i]!;
      });
    };
    expect(await counts('acc')).toEqual(await counts('cpu'));
  });

  it('shows native memory in use, its peak, and what the allocator holds', () => {
    const before = memoryStats().allocatedBytes;
    resetPeakMemory();
    const [a, b] = [tf.ones([256, 1024]), tf.ones([256, 1024])];
    a.dispose();
    const { allocatedBytes, peakAllocatedBytes, reservedBytes } = tf.memory() as ReturnType<
      typeof memoryStats
    > &
      tf.MemoryInfo;
    expect(allocatedBytes - before).toBe(2 ** 20);
    expect(peakAllocatedBytes - before).toBe(2 * 2 ** 20);
    expect(reservedBytes).toBeGreaterThanOrEqual(allocatedBytes);
    b.dispose();
    expect(memoryStats().allocatedBytes).toBe(before);
  });

  it('is constant over 10,000 steps of varying shapes, and native memory stays bounded', () => {
    // The tensors are tiny: on a busy machine, threads would wait for each other.
    setNumThreads(1);
    const weight = tf.variable(tf.randomNormal([16, 16], 0, 0.1, 'float32', 1));
    const optimizer = tf.train.adam(0.001);
    const step = (i: number) =>
      tf.tidy(() => {
        const x = tf.fill([1 + ((i * 37) % 61), 16], 1 / 16);
        optimizer.minimize(
          () =>
            tf
              .tanh(tf.matMul(x, weight as tf.Tensor2D))
              .square()
              .mean() as tf.Scalar,
        );
      });
    for (let i = 0; i < 61; i++) step(i);
    const before = { ...tf.memory(), ...memoryStats() };
    resetPeakMemory();
    for (let i = 0; i < 10_000; i++) step(i);
    const after = { ...tf.memory(), ...memoryStats() };
    for (const count of ['numTensors', 'numDataBuffers', 'numBytes', 'allocatedBytes'] as const) {
      expect([count, after[count]]).toEqual([count, before[count]]);
    }
    // All shapes occurred before: no new memory is needed, and no block is split.
    expect(after.peakAllocatedBytes).toBeLessThanOrEqual(before.peakAllocatedBytes);
    expect(after.reservedBytes).toBeLessThanOrEqual(before.reservedBytes);
    optimizer.dispose();
    weight.dispose();
  });
});

describe('native memory', () => {
  it('is not fragmented by 10,000 steps of large tensors of varying shapes that outlive one another', () => {
    setNumThreads(1);
    const random = pseudoRandom();
    const alive: tf.Tensor[] = [];
    // Tensors of up to 640 KiB; each lives for some steps, and they are freed in random order.
    const step = () => {
      const shape = [1 + Math.floor(random() * 1280), 1 + Math.floor(random() * 128)];
      const place = Math.floor(random() * 16);
      alive[place]?.dispose();
      alive[place] = tf.tidy(() => tf.fill(shape, 1).concat(tf.zeros([3, shape[1]!])));
    };
    for (let i = 0; i < 1000; i++) step();
    const { reservedBytes } = memoryStats();
    for (let i = 0; i < 10_000; i++) step();
    // No further segment of 32 MiB is reserved. Blocks below 64 KiB are kept by size, so a few more
    // of each size may be reserved.
    expect(memoryStats().reservedBytes - reservedBytes).toBeLessThan(2 * 2 ** 20);
    tf.dispose(alive);
  });

  it('reports that it is exhausted, and work continues', () => {
    const before = { ...tf.memory(), ...memoryStats() };
    const tooMuch = () =>
      tf.tidy(() =>
        tf
          .zeros([2 ** 22])
          .reshape([-1, 1])
          .mul(tf.zeros([1, 2 ** 24]))
          .sum(),
      );
    expect(tooMuch).toThrowError(
      expect.objectContaining({ code: 'ACC_OUT_OF_MEMORY', help: expect.any(String) as string }),
    );
    expect(tf.memory().numTensors).toBe(before.numTensors);
    expect(memoryStats().allocatedBytes).toBe(before.allocatedBytes);
    expect(tf.tidy(() => tf.ones([3]).sum().dataSync()[0])).toBe(3);
  });
});

/** Numbers from 0 to 1, the same in every run (Park and Miller 1988). */
function pseudoRandom(): () => number {
  let state = 1;
  return () => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff;
}

describe('tf.profile and tf.time', () => {
  it('profile lists the same kernels, shapes and bytes as on cpu', async () => {
    const profiled = async (backend: string) => {
      await tf.setBackend(backend);
      // tfjs counts bytes relative to the bytes at the start.
      const { numBytes } = tf.memory();
      const { kernels, newBytes, newTensors, peakBytes } = await tf.profile(() => tf.tidy(work));
      // The list includes tfjs's clones of tensors saved for gradients; stand-ins are created
      // without a kernel.
      const asked = kernels.filter(({ name }) => name !== 'Identity');
      const shown = asked.map(
        ({ name, bytesAdded, tensorsAdded, inputShapes, outputShapes, kernelTimeMs }) => {
          expect(kernelTimeMs).toBeGreaterThanOrEqual(0);
          return { name, bytesAdded, tensorsAdded, inputShapes, outputShapes };
        },
      );
      return { shown, newBytes, newTensors, peakBytes: peakBytes - numBytes };
    };
    const [actual, expected] = [await profiled('acc'), await profiled('cpu')];
    expect(expected.shown.length).toBeGreaterThan(10);
    expect(actual).toEqual(expected);
  });

  it('time returns the time of the kernels and of all of it', async () => {
    const { kernelMs, wallMs } = await tf.time(() => tf.tidy(() => void work()));
    expect(kernelMs).toBeGreaterThan(0);
    expect(wallMs).toBeGreaterThanOrEqual(kernelMs as number);
  });
});

describe('await data()', () => {
  it.each([
    ['float32', [1.5, NaN, -Infinity], Float32Array],
    ['int32', [1, -2, 2 ** 31 - 1], Int32Array],
    ['bool', [1, 0, 1], Uint8Array],
  ] as const)('returns %s in the typed array that tfjs documents', async (dtype, values, arrayType) => {
    const x = tf.tensor1d([...values], dtype);
    const read = x.data();
    // As on every backend, a read that started before the disposal still gets its values.
    x.dispose();
    expect(await read).toBeInstanceOf(arrayType);
    expect([...(await read)]).toEqual([...values]);
  });

  it('returns strings, and alternating real and imaginary parts', async () => {
    const texts = tf.tensor1d(['a', 'é'], 'string');
    const z = tf.complex([1, 2], [3, 4]);
    expect(await texts.data()).toEqual(['a', 'é']);
    expect([...(await z.data())]).toEqual([1, 3, 2, 4]);
    tf.dispose([texts, z]);
  });

  it('of a disposed tensor throws', async () => {
    const x = tf.tensor1d([1]);
    x.dispose();
    await expect(x.data()).rejects.toThrow('Tensor is disposed');
    expect(() => x.dataSync()).toThrow('Tensor is disposed');
    expect(() => x.square()).toThrow('Tensor is disposed');
    // In this case tfjs's own backends fail with an undefined property.
    expect(() => tf.square(x)).toThrowError(expect.objectContaining({ code: 'ACC_DATA_UNKNOWN' }));
  });
});
