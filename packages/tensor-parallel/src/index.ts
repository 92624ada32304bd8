export { cut, notePrepared, type CutOptions, type Preparation } from './marks.js';
export { parallelize, type ParallelPlan, type ParallelStyle } from './plan/parallelize.js';
export { tensorParallel, type TensorParallel } from './tensor-parallel.js';
