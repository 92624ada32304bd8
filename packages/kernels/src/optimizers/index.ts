export { adafactor, type Adafactor, type AdafactorOptions } from './adafactor.js';
export { adamw, AdamW, type AdamWOptions } from './adamw.js';
export { canUpdateShards } from './can-update-shards.js';
export { canUpdateInPieces, updateInPieces, type UpdatePiece } from './in-pieces.js';
export { fusedApply, hasOwnRule } from './fused/fused-apply.js';
export { lamb, type Lamb, type LambOptions } from './lamb.js';
export { lion, type Lion, type LionOptions } from './lion.js';
export type { NameFilter } from './name-filter.js';
export { oneBitAdam, type OneBitAdam, type OneBitAdamOptions } from './one-bit-adam.js';
export { optimizerState, slotListsOf, type OptimizerState } from './optimizer-state.js';
export { registerOptimizers } from './register-optimizers.js';
export {
  shardedUpdate,
  withShards,
  type ShardedUpdate,
  type ShardRange,
  type SumSquares,
} from './sharded-update.js';
export { sgdw, SgdW, type SgdWOptions } from './sgdw.js';
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
export type { WeightDecayOptions } from './weight-decay.js';
