import type { LayerCases } from '../layer-case.js';

export const POOLINGS: LayerCases = {
  maxPooling1d: { inputs: [[8, 2]], make: (l) => l.maxPooling1d({ poolSize: 2 }) },
  'maxPooling1d, same, overlapping': {
    inputs: [[7, 2]],
    make: (l) => l.maxPooling1d({ poolSize: 3, strides: 2, padding: 'same' }),
  },
  averagePooling1d: { inputs: [[8, 2]], make: (l) => l.averagePooling1d({ poolSize: 2 }) },
  'averagePooling1d, same, overlapping': {
    inputs: [[7, 2]],
    make: (l) => l.averagePooling1d({ poolSize: 3, strides: 2, padding: 'same' }),
  },
  maxPooling2d: { inputs: [[6, 5, 2]], make: (l) => l.maxPooling2d({ poolSize: 2 }) },
  'maxPooling2d, same, overlapping': {
    inputs: [[6, 5, 2]],
    make: (l) => l.maxPooling2d({ poolSize: [3, 2], strides: [2, 1], padding: 'same' }),
  },
  'maxPooling2d, channels first': {
    inputs: [[2, 6, 5]],
    make: (l) => l.maxPooling2d({ poolSize: 2, dataFormat: 'channelsFirst' }),
  },
  averagePooling2d: { inputs: [[6, 5, 2]], make: (l) => l.averagePooling2d({ poolSize: 2 }) },
  'averagePooling2d, same, overlapping': {
    inputs: [[6, 5, 2]],
    make: (l) => l.averagePooling2d({ poolSize: [3, 2], strides: [2, 1], padding: 'same' }),
  },
  'averagePooling2d, channels first': {
    inputs: [[2, 6, 5]],
    make: (l) => l.averagePooling2d({ poolSize: 2, dataFormat: 'channelsFirst' }),
  },
  maxPooling3d: { inputs: [[4, 4, 5, 2]], make: (l) => l.maxPooling3d({ poolSize: 2 }) },
  'maxPooling3d, same, overlapping': {
    inputs: [[4, 3, 5, 1]],
    make: (l) => l.maxPooling3d({ poolSize: 3, strides: 2, padding: 'same' }),
  },
  averagePooling3d: { inputs: [[4, 4, 5, 2]], make: (l) => l.averagePooling3d({ poolSize: 2 }) },
  'averagePooling3d, same, overlapping': {
    inputs: [[4, 3, 5, 1]],
    make: (l) => l.averagePooling3d({ poolSize: 3, strides: 2, padding: 'same' }),
  },
  globalMaxPooling1d: { inputs: [[5, 3]], make: (l) => l.globalMaxPooling1d() },
  globalAveragePooling1d: { inputs: [[5, 3]], make: (l) => l.globalAveragePooling1d() },
  globalMaxPooling2d: { inputs: [[4, 5, 3]], make: (l) => l.globalMaxPooling2d({}) },
  'globalMaxPooling2d, channels first': {
    inputs: [[3, 4, 5]],
    make: (l) => l.globalMaxPooling2d({ dataFormat: 'channelsFirst' }),
  },
  globalAveragePooling2d: { inputs: [[4, 5, 3]], make: (l) => l.globalAveragePooling2d({}) },
  'globalAveragePooling2d, channels first': {
    inputs: [[3, 4, 5]],
    make: (l) => l.globalAveragePooling2d({ dataFormat: 'channelsFirst' }),
  },
};
