// The cases that every strategy must pass, on 1, 2 and 3 ranks. Returns the outcomes by the number of
// ranks.
import * as tf from '@tensorflow/tfjs';
import '@acc/kernels/register';
import type { CaseResult } from '@acc/testkit';
import { runStrategyCases, strategyContext } from '@acc/testkit/strategies';
import { forEachSize, type ThreadRanks } from '@acc/testkit/threads';
import { sharded } from './sharded.js';

export default async (_: undefined, ranks: ThreadRanks): Promise<Record<number, CaseResult[]>> => {
  await tf.setBackend('acc');
  return forEachSize(ranks, (collective) =>
    runStrategyCases({ create: sharded, context: strategyContext(collective) }),
  );
};
