import { describe, expect, it } from 'vitest';
import { liveTensors, operator, tensorFrom, torchVersion } from '@acc/native';
import { IndexChecks } from './index-checks.js';
import { withIndicesChecked } from './indexing.js';

const select = operator('aten::index_select');
const error = (index: number, size: number) =>
  expect.objectContaining({ code: 'ACC_INDEX_OUT_OF_RANGE', details: { index, size } }) as Error;

function lookUp(indexChecks: IndexChecks, indices: number[], size = 3, kernelName = 'GatherV2'): number[] {
  using table = tensorFrom(
    Float32Array.from({ length: size }, (_, i) => i),
    'float32',
    [size],
  );
  using index = tensorFrom(Int32Array.from(indices), 'int32', [indices.length]);
  using found = withIndicesChecked({ indexChecks }, { kernelName, size }, index, (checked) =>
    select(table, 0, checked),
  );
  return [...(found.read() as Float32Array)];
}

describe('indices on a device', () => {
  it('are clamped, and the next report names the lowest or the highest one', () => {
    torchVersion();
    const checks = new IndexChecks();
    expect(lookUp(checks, [0, 2, 1])).toEqual([0, 2, 1]);
    checks.report();
    expect(lookUp(checks, [0, 5, 1])).toEqual([0, 2, 1]);
    expect(lookUp(checks, [2, 1])).toEqual([2, 1]);
    expect(() => checks.report()).toThrowError(error(5, 3));
    checks.report();
    expect(lookUp(checks, [1, -4])).toEqual([1, 0]);
    expect(() => checks.report()).toThrowError(error(-4, 3));
  });

  it('are told apart by their kernel and size, however many there are', () => {
    const checks = new IndexChecks();
    for (let size = 1; size <= 70; size++) lookUp(checks, [0, size - 1], size);
    checks.report();
    expect(() => {
      for (let size = 1; size <= 70; size++) lookUp(checks, [size === 3 ? 3 : 0], size);
    }).toThrowError(error(3, 3));
  });

  it('leave no tensors behind, and none are noted of an empty list', () => {
    const checks = new IndexChecks();
    lookUp(checks, []);
    const before = liveTensors();
    lookUp(checks, [7]);
    lookUp(checks, []);
    expect(liveTensors()).toBe(before);
  });
});
