// A compiled pipelined step whose loss states its items, or the same step as it is. Returns which
// ranks replay, and why not.
import { Accelerator } from '@acc/core';
import * as tf from '@tensorflow/tfjs';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { skipping, SKIPPING_STAGES, xsOf, ysOf } from './models.js';

export interface Weighed {
  readonly losses: readonly number[];
  readonly replays: number;
  readonly reason: string | undefined;
}

export interface Args {
  /** How the loss states its items. */
  readonly counts: 'tensor' | 'number';
  readonly isCompiled: boolean;
}

export default async function weighed({ counts, isCompiled }: Args): Promise<Weighed> {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 } });
  const model = skipping();
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare(model, optimizer);
  const loss = (y: tf.Tensor, prediction: tf.Tensor) => {
    const isCounted = tf.greater(y, 0);
    const items = tf.sum(tf.cast(isCounted, 'float32'));
    const total = tf.sum(tf.mul(tf.square(tf.sub(y, prediction)), tf.cast(isCounted, 'float32')));
    const mean = tf.div(total, tf.maximum(items, 1));
    return accelerator.weighLoss(mean, counts === 'tensor' ? items : 4);
  };
  const step = accelerator.pipelined(model, loss, { stages: SKIPPING_STAGES[2]!, microBatches: 2 });
  const compiled = accelerator.compile(step);
  const losses = [0, 1, 2, 3, 4].map((i) =>
    tf.tidy(() => (isCompiled ? compiled : step)(xsOf(i), ysOf(i)).dataSync()[0]!),
  );
  const { replays, reason } = compiled;
  accelerator.freeMemory();
  disposeOptimizers(optimizer);
  tf.disposeVariables();
  return { losses, replays, reason };
}
