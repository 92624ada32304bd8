export {
  engineInternals,
  gradientDepth,
  type CustomOperator,
  type EngineInternals,
  type EngineScope,
  type EngineState,
  type GradientsFunction,
  type GradientsResult,
  type RunKernel,
  type RunKernelFunc,
  type TapeNode,
} from './engine.js';
export { lossTable, type Loss } from './losses.js';
export {
  optimizerInternals,
  type AdadeltaInternals,
  type AdagradInternals,
  type AdamaxInternals,
  type AdamInternals,
  type MomentumInternals,
  type OptimizerInternals,
  type OptimizerVariable,
  type RmsPropInternals,
  type SgdInternals,
} from './optimizer.js';
export { replaceGradient, replaceKernel } from './registry.js';
export { tensorInternals, type TensorInternals } from './tensor.js';
