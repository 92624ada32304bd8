export {
  inferredMap,
  memoryLimits,
  moduleSizes,
  planDispatch,
  type Circumstances,
  type Dispatch,
} from './dispatch/dispatch-model.js';
export { handingOver, isOffloaded, storeChangedWeights } from './dispatch/offloaded-weights.js';
export { hasLimits, type DeviceBytes, type DispatchOptions, type LayerDevices } from './dispatch/options.js';
export { requireValues } from './dispatch/stored-values.js';
export { fillingEmpty } from './empty/empty-weight.js';
export { initEmptyWeights } from './empty/init-empty-weights.js';
