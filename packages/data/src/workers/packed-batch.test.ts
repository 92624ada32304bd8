import { expect, it } from 'vitest';
import { shaped } from '@acc/formats';
import { planPacking, viewOf, type PackedLeaf } from './packed-batch.js';

it('packs samples of every kind into one piece of memory', () => {
  const samples = [0, 1].map((i) => ({
    x: Float32Array.of(i, i + 0.5),
    image: shaped(Uint8Array.of(i, 2, 3, 4), [2, 2, 1]),
    pair: [i, `row ${i}`],
    flag: i === 1,
  }));
  const plan = planPacking(samples);
  const memory = new SharedArrayBuffer(plan.bytes);
  plan.write(memory);
  const { x, image, pair, flag } = plan.structure as Record<string, PackedLeaf> & { pair: PackedLeaf[] };
  const read = (leaf: PackedLeaf) => [
    ...viewOf(
      memory,
      leaf,
      leaf.shape.reduce((product, dim) => product * dim, 1),
    ),
  ];
  expect([x!.shape, x!.dtype, read(x!)]).toEqual([[2, 2], 'float32', [0, 0.5, 1, 1.5]]);
  expect([image!.shape, image!.dtype, read(image!)]).toEqual([
    [2, 2, 2, 1],
    'int32',
    [0, 2, 3, 4, 1, 2, 3, 4],
  ]);
  expect(read(pair[0]!)).toEqual([0, 1]);
  expect(pair[1]!.strings).toEqual(['row 0', 'row 1']);
  expect([flag!.dtype, read(flag!)]).toEqual(['bool', [0, 1]]);
});

it('refuses a shape that does not fit, and samples that differ', () => {
  const code = (value: string) => expect.objectContaining({ code: value });
  expect(() => shaped(new Uint8Array(5), [2, 2])).toThrow(code('ACC_INVALID_ARGUMENT'));
  expect(() => planPacking([{ x: 1 }, { x: [1] }])).toThrow(code('ACC_DATA_COLLATE'));
});
