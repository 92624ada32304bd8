export { fillingEmpty, isEmptyWeight } from './empty-weight.js';
export { initEmptyWeights } from './init-empty-weights.js';
