export * from './list-math/foreach.js';
export { adamStep, type AdamConstants, type AdamStepConstants } from './optimizer-steps/fused/adam-step.js';
export { backendForLists } from './optimizer-steps/fused/fused-apply.js';
export { selected, splitPacked, type StepChunk } from './optimizer-steps/fused/native-step.js';
export { momentumStep, plainSgdStep } from './optimizer-steps/fused/sgd-step.js';
export { inGroups } from './optimizer-steps/in-groups.js';
export { filterToConfig, type NameFilter } from './optimizer-steps/name-filter.js';
export { hasPackedState, momentList } from './optimizer-steps/packed/moment-list.js';
export { LEAST_PACKED, type Packing, type StateBits } from './optimizer-steps/packed/packing.js';
export { packedStep } from './optimizer-steps/packed/packed-step.js';
export { plainStep } from './optimizer-steps/packed/plain-step.js';
export { packedAdamW, packedLion, packedMomentum, type PackedRule } from './optimizer-steps/packed/rules.js';
export {
  shardedUpdate,
  fullNorms,
  type ShardedUpdate,
  type ShardRange,
} from './optimizer-steps/sharded-update.js';
export { SlotOptimizer } from './optimizer-steps/slot-optimizer.js';
export type { SlotList, Update } from './optimizer-steps/slots.js';
