export { gradientAccumulation, type GradientAccumulationOptions } from './gradient-accumulation.js';
