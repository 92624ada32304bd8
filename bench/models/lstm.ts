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
 * One LSTM layer over a whole sequence, and a dense layer on its last output. Gates are logistic
 * sigmoids, as in PyTorch. tfjs's default is the piecewise linear one. Keras has one bias per gate.
 * PyTorch has two that it adds, so it has 4 × hidden more parameters.
 */
export function createLstm(tf: Tf, { inputs, hidden, sequence, classes }: LstmSizes): BenchModel {
  const inputShape = [sequence, inputs];
  const model = tf.sequential({
    layers: [
      tf.layers.lstm({
        ...{ units: hidden, inputShape, recurrentActivation: 'sigmoid' },
        // The default of tfjs, orthogonal, takes seconds to draw at this size.
        recurrentInitializer: 'glorotUniform',
      }),
      tf.layers.dense({ units: classes }),
    ],
  });
  return classifier(tf, model, { inputShape, classes });
}
