export { cut, type CutOptions } from './marks.js';
export { parallelize, type ParallelPlan, type ParallelStyle } from './plan/parallelize.js';
export { tensorParallel, type TensorParallel } from './tensor-parallel.js';
