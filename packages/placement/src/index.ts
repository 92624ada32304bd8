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
