// The entry '@acc/planner/memory': what the command `acc estimate-memory` computes.
export type { BatchSizes, Precision } from './memory/activations.js';
export { tensorsOf, type Architecture, type SizedTensor } from './memory/architecture.js';
export { estimateMemory, type Estimate, type EstimateOptions, type Moment } from './memory/estimate.js';
export { isKnownKind, readHubConfig } from './memory/hub-config.js';
export { sizesOf, type ModelSizes } from './memory/model-sizes.js';
export type { StrategyName } from './memory/layouts.js';
export {
  memoryOf,
  OPTIMIZER_NAMES,
  PACKING_NAMES,
  type OptimizerName,
  type StateBits,
} from './memory/optimizers.js';
