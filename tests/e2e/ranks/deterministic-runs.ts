import { createHash } from 'node:crypto';
import type * as models from './deterministic-models.js';
import * as tf from '@tensorflow/tfjs';

interface Batch {
  readonly xs: tf.Tensor;
  readonly ys: tf.Tensor;
}

/** The loss of a batch, with logits that random numbers change. */
export function noisyLoss({ model, loss }: ReturnType<typeof models.mlp>, { xs, ys }: Batch): tf.Scalar {
  const logits = model.apply(xs, { training: true }) as tf.Tensor;
  return loss(ys, logits.mul(tf.randomUniform([xs.shape[0]!, 1], 0.9, 1.1))).asScalar();
}

/** A hash of the bytes of all weights. */
export function hashOfWeights(model: tf.LayersModel): string {
  const hash = createHash('sha256');
  for (const weight of model.getWeights()) {
    const { buffer, byteOffset, byteLength } = weight.dataSync() as Float32Array;
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  }
  return hash.digest('hex');
}
