import type { LayerCases } from '../layer-case.js';

/**
 * Layers that are random in training. Both backends draw the same numbers, because tfjs draws them
 * in JavaScript.
 */
export const RANDOM: LayerCases = {
  dropout: { inputs: [[4, 5]], make: (l) => l.dropout({ rate: 0.4, seed: 5 }) },
  'dropout, one for all steps': {
    inputs: [[4, 5]],
    fixedBatch: true,
    make: (l) => l.dropout({ rate: 0.4, seed: 5, noiseShape: [4, 1, 5] }),
  },
  spatialDropout1d: { inputs: [[4, 5]], make: (l) => l.spatialDropout1d({ rate: 0.4, seed: 5 }) },
  alphaDropout: { inputs: [[4, 5]], make: (l) => l.alphaDropout({ rate: 0.3 }) },
  gaussianDropout: { inputs: [[4, 5]], make: (l) => l.gaussianDropout({ rate: 0.3 }) },
  gaussianNoise: { inputs: [[4, 5]], make: (l) => l.gaussianNoise({ stddev: 0.3 }) },
};
