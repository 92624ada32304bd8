export { canUpdateShards } from './can-update-shards.js';
export { canUpdateInGroups, updateInGroups, type UpdateGroup } from './in-groups.js';
export { fusedApply, hasTfjsRule } from './fused/fused-apply.js';
export { optimizerState, slotListsOf, type OptimizerState } from './optimizer-state.js';
export { packedShape, stateAlignment, type Packing } from './packed/packing.js';
export {
  shardedUpdate,
  withShards,
  type ShardedUpdate,
  type ShardRange,
  type SumSquares,
} from './sharded-update.js';
export { SlotOptimizer } from './slot-optimizer.js';
export {
  namedGradients,
  noteUse,
  placeSlots,
  stateTypeOf,
  updatesOf,
  withStateOf,
  type Gradients,
  type NamedGradient,
  type SlotList,
  type Update,
} from './slots.js';
