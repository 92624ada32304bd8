export { createModel, type Sizes } from './create-model.js';
export { countParameters, seededRandom, type BenchModel } from './model.js';
