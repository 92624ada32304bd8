export {
  sumOfCounts,
  type AccumulationState,
  type GradientAccumulation,
  type HeldGradients,
  type HeldPasses,
  type ItemCounts,
} from './accumulation.js';
export { gradientAccumulation, type GradientAccumulationOptions } from './gradient-accumulation.js';
