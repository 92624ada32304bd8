import type { LayerCase, LayerCases } from '../layer-case.js';

const METRICS = ['mse', 'mae', 'mape', 'cosine'];

/** Every loss that `compile` accepts by name, after the activation for which it is meant. */
const LOSSES: Readonly<Record<string, Partial<LayerCase> & { activation?: 'softmax' | 'sigmoid' }>> = {
  meanSquaredError: {},
  meanAbsoluteError: {},
  meanAbsolutePercentageError: {},
  meanSquaredLogarithmicError: { activation: 'sigmoid' },
  squaredHinge: {},
  hinge: {},
  categoricalHinge: { targets: 'oneHot' },
  logcosh: {},
  categoricalCrossentropy: { activation: 'softmax', targets: 'oneHot', metrics: ['accuracy', 'precision'] },
  sparseCategoricalCrossentropy: { activation: 'softmax', targets: 'classes', metrics: ['accuracy'] },
  binaryCrossentropy: { activation: 'sigmoid', targets: 'oneHot', metrics: ['accuracy'] },
  kullbackLeiblerDivergence: { activation: 'softmax' },
  poisson: { activation: 'sigmoid' },
  cosineProximity: {},
};

export const LOSS_CASES: LayerCases = Object.fromEntries(
  Object.entries(LOSSES).map(([loss, { activation, ...options }]): [string, LayerCase] => [
    `the loss ${loss}`,
    {
      inputs: [[5]],
      make: (l) => l.dense({ units: 4, ...(activation && { activation }) }),
      loss,
      metrics: METRICS,
      ...options,
    },
  ]),
);
