export {
  sumOfCounts,
  type AccumulationState,
  type GradientAccumulation,
  type AccumulatedGradients,
  type AccumulatedPasses,
  type ItemCounts,
} from './accumulation.js';
export { gradientAccumulation, type GradientAccumulationOptions } from './gradient-accumulation.js';
