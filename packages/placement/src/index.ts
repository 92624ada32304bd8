export {
  DeferredVariable,
  hasLostValues,
  type DeferredSource,
  type DeferredState,
} from './deferred-variable.js';
export type { DistributedVariable } from './distributed-variable.js';
export type { DistributedUpdate, GradientLists, Placer } from './placer.js';
export { placedStrategy } from './placed-strategy.js';
export type { Placement } from './placement.js';
export { stagedInPlace } from './staged-in-place.js';
export { cannotDefer } from './flat/errors.js';
export { deferBy, FlatPlacer, requireShards, type ShardedContext } from './flat/flat-placer.js';
export { PackedUnit } from './flat/packed-unit.js';
export type { PackedShard } from './flat/packed-shard.js';
export { FLOAT_BYTES } from './flat/layout.js';
export type { Shard } from './flat/shard.js';
export type { ShardStore, StoredGradient, StoredShard, StoredUpdate } from './flat/shard-store.js';
export { splitReduction, type SplitReductions } from './flat/split-reduction.js';
export { Unit, type GatheredUnit, type UnitContext, type WireDtype, type WireDtypes } from './flat/unit.js';
