import { describe, expect, it } from 'vitest';
import { ShardedCall, type InputState } from '@acc/sharding-rules';
import { grows } from './growing.js';

const SUM: InputState = { kind: 'sum', scale: 1 };
const WHOLE: InputState = { kind: 'whole' };

/** The first input is a partial sum, others are whole. */
function growsOn(name: string, shapes: Readonly<Record<string, readonly number[]>>, attrs = {}): boolean {
  const inputs = Object.entries(shapes).map(
    ([input, shape], i) => [input, { shape, state: i === 0 ? SUM : WHOLE }] as const,
  );
  return grows(new ShardedCall(new Map(inputs), attrs, 2), name);
}

describe('whether a kernel makes more of a partial sum', () => {
  it.each([
    ['Tile', { x: [4, 1] }, { reps: [1, 9] }, true],
    ['Tile', { x: [4, 1] }, { reps: [1, 1] }, false],
    ['Multiply', { a: [4, 1], b: [4, 9] }, {}, true],
    ['Multiply', { a: [4, 9], b: [9] }, {}, false],
    ['Multiply', { b: [9], a: [4, 9] }, {}, true],
    ['RealDiv', { a: [4, 9], b: [4, 1] }, {}, false],
    ['Select', { t: [4, 1], condition: [4, 9], e: [4, 9] }, {}, true],
    ['BatchMatMul', { a: [4, 3], b: [3, 9] }, {}, true],
    ['BatchMatMul', { a: [4, 9], b: [3, 9] }, { transposeB: true }, false],
    ['BatchMatMul', { a: [9, 4], b: [9, 12] }, { transposeA: true }, true],
    ['BatchMatMul', { a: [1, 4, 3], b: [5, 3, 3] }, {}, true],
    ['GatherV2', { x: [4, 3], indices: [9] }, { axis: 0 }, true],
    ['GatherV2', { x: [4, 3], indices: [2] }, { axis: 0 }, false],
    ['Neg', { x: [4] }, {}, false],
  ] as const)('%s of %o', (name, shapes, attrs, expected) => {
    expect(growsOn(name, shapes, attrs)).toBe(expected);
  });
});
