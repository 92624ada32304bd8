import * as tf from '@tensorflow/tfjs';
import { beforeAll, expect, it } from 'vitest';
import { SingleCollective } from '@acc/collective';
import { shardedUpdate, withShards, type ShardedUpdate } from '@acc/kernels';
import { shardedUpdateOf } from './sharded-update.js';

beforeAll(() => tf.setBackend('cpu'));

it('sums of pieces of a variable are added up once over the ranks that share the pieces', () => {
  const outer: ShardedUpdate = {
    sumSquares: (squares) => tf.mul(squares, 2),
    shardOf: () => undefined,
    sum: (local) => local.clone(),
  };
  const sums = tf.tidy(() => {
    let found: tf.Tensor | undefined;
    withShards(outer, () =>
      withShards(shardedUpdateOf(new Map(), new SingleCollective()), () => {
        found = shardedUpdate()!.sumSquares(tf.tensor2d([[3, 5]]), ['a', 'b']);
      }),
    );
    return found!;
  });
  expect(Array.from(sums.dataSync())).toEqual([6, 10]);
  sums.dispose();
});
