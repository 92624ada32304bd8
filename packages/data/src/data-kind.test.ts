import * as tf from '@tensorflow/tfjs';
import { expect, it } from 'vitest';
import { columns } from './columns.js';
import { dataKind } from './data-kind.js';
import { DataLoader } from './data-loader.js';
import { shardDataset } from './shard-dataset.js';

it('distinguishes data from other objects', () => {
  tf.tidy(() => {
    const [a, b] = [tf.ones([3, 2]), tf.ones([3])];
    const short = tf.ones([2]);
    const variable = tf.variable(a);
    const dataset = tf.data.array([1]);
    const kinds: [unknown, string | undefined][] = [
      [new DataLoader([1], { batchSize: 1 }), 'loader'],
      [dataset, 'dataset'],
      [shardDataset(dataset, { rank: 0, size: 2 }), 'dataset'],
      [[a, b], 'columns'],
      [{ a, b }, 'columns'],
      [{ xs: { a, b: [a, b] }, ys: b }, 'columns'],
      [columns(a), 'columns'],
      [
        [
          { xs: a, ys: b },
          { xs: short, ys: short },
        ],
        'batches',
      ],
      [
        [
          [a, b],
          [short, short],
        ],
        'batches',
      ],
      [[a, short], undefined],
      [{ a, short }, undefined],
      [[tf.scalar(1)], undefined],
      [a, undefined],
      [[variable], undefined],
      [{ variable }, undefined],
      [[a, variable], undefined],
      [[{ variable }], undefined],
      [[], undefined],
      [{}, undefined],
      [[{}], undefined],
      [[1, 2], undefined],
      [{ a, other: 1 }, undefined],
      [tf.train.sgd(0.1), undefined],
      [new Map(), undefined],
      [5, undefined],
      [null, undefined],
      [undefined, undefined],
    ];
    expect(kinds.map(([object]) => dataKind(object))).toEqual(kinds.map(([, kind]) => kind));
    variable.dispose();
  });
});
