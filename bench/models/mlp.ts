import { classifier } from './classifier.js';
import type { BenchModel, Tf } from './model.js';

export interface MlpSizes {
  readonly inputs: number;
  readonly hidden: number;
  readonly classes: number;
}

/**
 * One hidden layer with relu. It is so small that the cost per operator is measured, not
 * arithmetic.
 */
export function createMlp(tf: Tf, { inputs, hidden, classes }: MlpSizes): BenchModel {
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: hidden, activation: 'relu', inputShape: [inputs] }),
      tf.layers.dense({ units: classes }),
    ],
  });
  return classifier(tf, model, { inputShape: [inputs], classes });
}
