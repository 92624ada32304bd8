import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { KernelLayer } from '@acc/contract';
import { dropout, kernelLayerOf, registerAccBackend } from '@acc/kernels';
import { Deterministic } from './deterministic.js';

const ROWS = 8;
const RANDOM_OPS: Readonly<Record<string, (rows: number) => tf.Tensor>> = {
  randomUniform: (rows) => tf.randomUniform([rows, 3]),
  'randomUniform with a seed': (rows) => tf.randomUniform([rows, 3], 0, 1, 'float32', 7),
  'randomUniform of integers': (rows) => tf.randomUniformInt([rows], 0, 100),
  randomNormal: (rows) => tf.randomNormal([rows, 2, 2]),
  randomStandardNormal: (rows) => tf.randomStandardNormal([rows, 3]),
  truncatedNormal: (rows) => tf.truncatedNormal([rows, 3]),
  randomGamma: (rows) => tf.randomGamma([rows, 3], 2),
  dropout: (rows) => tf.dropout(tf.ones([rows, 9]), 0.5),
  'dropout of the backend': (rows) => dropout(tf.ones([rows, 9]), 0.5),
  'several steps to a row': (rows) => tf.randomNormal([rows * 3, 2]),
};

let kernels: KernelLayer;
let deterministic: Deterministic | undefined;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  kernels = kernelLayerOf('acc', tf.backend());
});

afterEach(() => {
  deterministic?.end();
  deterministic = undefined;
});

function asRank<T>(rank: number, size: number, compute: (rows: number) => T): T {
  deterministic = new Deterministic({}, { kernels, rank, size, seed: 3 });
  const rows = new Array<number>(size).fill(ROWS / size);
  deterministic.beginBatch({ rows, realRows: rows });
  try {
    return compute(ROWS / size);
  } finally {
    deterministic.end();
    deterministic = undefined;
  }
}

const valuesOf = (x: tf.Tensor): number[] => {
  const values = Array.from(x.dataSync());
  x.dispose();
  return values;
};

describe('random operators', () => {
  it.each(Object.entries(RANDOM_OPS))(
    '%s draws the rows of the whole batch on any number of ranks',
    (_, draw) => {
      const alone = asRank(0, 1, (rows) => [valuesOf(draw(rows)), valuesOf(draw(rows))]);
      for (const size of [2, 4]) {
        const ranks = Array.from({ length: size }, (_, rank) =>
          asRank(rank, size, (rows) => [valuesOf(draw(rows)), valuesOf(draw(rows))]),
        );
        expect(ranks.flatMap(([first]) => first)).toEqual(alone[0]);
        expect(ranks.flatMap(([, second]) => second)).toEqual(alone[1]);
      }
      expect(new Set(alone[0]).size).toBeGreaterThan(1);
    },
  );

  it('draw different numbers for each call and each batch, unless they have a seed', () => {
    const drawn = asRank(0, 1, (rows) => {
      const twice = () => [valuesOf(tf.randomNormal([rows])), valuesOf(dropout(tf.ones([rows, 9]), 0.5))];
      const first = [...twice(), ...twice()];
      deterministic!.beginBatch({ rows: [ROWS], realRows: [ROWS] });
      return [...first, ...twice()].map((values) => values.join());
    });
    expect(new Set(drawn).size).toBe(6);
  });

  it('draw the same numbers on every rank for tensors without rows', () => {
    const draw = () => [
      valuesOf(tf.randomNormal([5, 3])),
      valuesOf(dropout(tf.ones([5, 3]), 0.5)),
      valuesOf(tf.multinomial([[1, 2, 3]], 5) as tf.Tensor),
    ];
    expect(asRank(1, 4, draw)).toEqual(asRank(0, 1, draw));
  });

  it('are restored to those of tfjs afterwards', () => {
    asRank(0, 2, (rows) => tf.randomNormal([rows]).dispose());
    const first = valuesOf(tf.randomNormal([ROWS]));
    expect(first).not.toEqual(valuesOf(tf.randomNormal([ROWS])));
    expect(Object.hasOwn(tf.TensorBuffer.prototype, 'values')).toBe(false);
    expect(tf.buffer([2]).values.length).toBe(2);
  });

  it('refuse a random function of the program only if training depends on its numbers', () => {
    const draw = (rows: number) => tf.rand([rows], () => 0.5);
    asRank(0, 2, (rows) => {
      expect(valuesOf(draw(rows).mul(2))).toEqual([1, 1, 1, 1]);
      const learns = () => deterministic!.plugin.backward!(() => draw(rows).mul(2));
      expect(learns).toThrowError(expect.objectContaining({ code: 'ACC_DETERMINISTIC_RANKS' }));
    });
  });
});
