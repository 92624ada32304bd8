import { classifier } from './classifier.js';
import type { BenchModel, Tf } from './model.js';

export interface LstmSizes {
  readonly inputs: number;
  readonly hidden: number;
  /** Time steps. */
  readonly sequence: number;
  readonly classes: number;
}

/**
 * One LSTM layer over a whole sequence, and a dense layer on its last output. Gates are logistic sigmoids, as in
 * PyTorch, where tfjs's default is the piecewise linear one. Keras has one bias for each gate and PyTorch two that it
 * adds up: the sums are equal, the counts of parameters differ by 4 × hidden.
 */
export function createLstm(tf: Tf, { inputs, hidden, sequence, classes }: LstmSizes): BenchModel {
  const inputShape = [sequence, inputs];
  const model = tf.sequential({
    layers: [
      tf.layers.lstm({
        ...{ units: hidden, inputShape, recurrentActivation: 'sigmoid' },
        // tfjs's own default, orthogonal, takes seconds to draw at this size
        recurrentInitializer: 'glorotUniform',
      }),
      tf.layers.dense({ units: classes }),
    ],
  });
  return classifier(tf, model, { inputShape, classes });
}
