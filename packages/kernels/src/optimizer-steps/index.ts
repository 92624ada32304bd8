export { canUpdateShards } from './can-update-shards.js';
export { canUpdateInPieces, updateInPieces, type UpdatePiece } from './in-pieces.js';
export { fusedApply, hasOwnRule } from './fused/fused-apply.js';
export { optimizerState, slotListsOf, type OptimizerState } from './optimizer-state.js';
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
  updatesOf,
  withOwnState,
  type Gradients,
  type NamedGradient,
  type SlotList,
  type Update,
} from './slots.js';
