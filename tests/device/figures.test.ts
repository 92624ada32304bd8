import { describe, expect, it } from 'vitest';
import { backend, gather, keep, ready, setBackend, tensor1d, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { AccBackend } from '@acc/kernels';
import {
  cutRecording,
  finishRecording,
  memoryStats,
  operator,
  operatorWithResults,
  releaseCachedMemory,
  resetPeakMemory,
  setDefaultDevice,
  startRecording,
  totalDeviceMemory,
  type Recording,
} from '@acc/native';

const MIB = 2 ** 20;

describe('memory', () => {
  it('is that of the default device, whatever other devices and the host hold', () => {
    const zeros = operator('aten::zeros');
    const before = memoryStats();
    using large = zeros([MIB], 'float32');
    expect(memoryStats().allocatedBytes - before.allocatedBytes).toBe(large.byteLength);
    expect(memoryStats().allocations).toBeGreaterThan(before.allocations);
    using onHost = zeros([MIB], 'float32', undefined, 'cpu');
    using elsewhere = zeros([MIB], 'float32', undefined, 'late:1');
    expect(memoryStats().allocatedBytes - before.allocatedBytes).toBe(large.byteLength);
    expect(onHost.byteLength + elsewhere.byteLength).toBe(2 * large.byteLength);
    large.dispose();
    expect(memoryStats().peakAllocatedBytes).toBeGreaterThanOrEqual(before.allocatedBytes + 4 * MIB);
    resetPeakMemory();
    expect(memoryStats().peakAllocatedBytes).toBe(memoryStats().allocatedBytes);
    releaseCachedMemory();
    expect(memoryStats().reservedBytes).toBeLessThan(before.reservedBytes + 4 * MIB);
    expect(totalDeviceMemory()).toBeGreaterThan(64 * MIB);
  });

  it('of a CPU has no such limit', () => {
    setDefaultDevice('cpu');
    expect(totalDeviceMemory()).toBe(0);
    setDefaultDevice('late:0');
  });
});

describe('an index out of range', () => {
  const error = expect.objectContaining({
    code: 'ACC_INDEX_OUT_OF_RANGE',
    details: { index: 7, size: 3 },
  }) as Error;
  const lookUp = (index: number): Tensor => tidy(() => gather(tensor1d([1, 2, 3]), [0, index]));

  it('is reported by the next read, and the device can be used further', async () => {
    await setBackend('acc');
    await ready();
    const wrong = lookUp(7);
    expect(() => wrong.dataSync()).toThrowError(error);
    expect([...wrong.dataSync()]).toEqual([1, 3]);
    const again = keep(lookUp(7));
    await expect(again.data()).rejects.toThrowError(error);
    const right = lookUp(1);
    expect([...(await right.data())]).toEqual([1, 2]);
    for (const one of [wrong, again, right]) one.dispose();
  });
});

it.each([
  ['lack of memory', 2, 'ACC_OUT_OF_MEMORY'],
  ['a wrong argument', 1, 'ACC_OPERATOR_FAILED'],
  ['a failed assertion', 710, 'ACC_DEVICE_FAILED'],
])('an error of a device has the code of its number: %s', (_, number, code) => {
  const report = operatorWithResults('late::report_error');
  expect(() => report(number)).toThrowError(expect.objectContaining({ code }) as Error);
});

describe('a device that has failed', () => {
  it('has a code of its own, in whatever call comes next, and in replays', () => {
    const acc = backend() as AccBackend;
    const x = tensor1d([1, 2]);
    const native = acc.native(x);
    startRecording();
    using doubled = operator('aten::add.Tensor')(native, native);
    cutRecording([doubled]);
    const recording = finishRecording() as Recording;
    recording.seal();
    operatorWithResults('late::break_device')(native);
    const failed = expect.objectContaining({
      code: 'ACC_DEVICE_FAILED',
      help: expect.stringContaining('CUDA_LAUNCH_BLOCKING=1') as string,
    }) as Error;
    expect(() => recording.replay(0, [native.id], [doubled])).toThrowError(failed);
    expect(() => x.dataSync()).toThrowError(failed);
  });
});
