import type { LayerCases } from '../layer-case.js';

const TWO = [
  [3, 4],
  [3, 4],
];
const THREE = [...TWO, [3, 4]];

export const MERGINGS: LayerCases = {
  add: { inputs: THREE, make: (l) => l.add() },
  'add, broadcast': { inputs: [[3, 4], [4]], make: (l) => l.add() },
  average: { inputs: THREE, make: (l) => l.average() },
  concatenate: {
    inputs: [
      [3, 4],
      [3, 2],
    ],
    make: (l) => l.concatenate(),
  },
  'concatenate along another axis': {
    inputs: [
      [3, 4],
      [2, 4],
    ],
    make: (l) => l.concatenate({ axis: 1 }),
  },
  maximum: { inputs: THREE, make: (l) => l.maximum() },
  minimum: { inputs: THREE, make: (l) => l.minimum() },
  multiply: { inputs: THREE, make: (l) => l.multiply() },
  dot: { inputs: [[4], [4]], make: (l) => l.dot({ axes: 1 }) },
  'dot, normalized': { inputs: [[4], [4]], make: (l) => l.dot({ axes: -1, normalize: true }) },
  'dot of sequences': {
    inputs: [
      [3, 4],
      [5, 4],
    ],
    make: (l) => l.dot({ axes: 2 }),
  },
  'dot of unlike axes': {
    inputs: [
      [3, 4],
      [4, 5],
    ],
    make: (l) => l.dot({ axes: [2, 1] }),
  },
};
