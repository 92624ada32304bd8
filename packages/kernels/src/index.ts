export { activeLayer, type ActiveLayerOptions } from './active-layer.js';
export {
  AccBackend,
  kernelChoices,
  registerAccBackend,
  registerAccBackendFor,
  registeredDevice,
  shareKernelChoices,
} from '#platform/acc-backend';
export { BACKEND_NAME, type AccMemoryInfo } from './acc-names.js';
export {
  attendLocally,
  attentionBlock,
  attentionBlockGradient,
  divideHeads,
  divideSequences,
  dropout,
  gelu,
  layerNorm,
  linearCrossEntropy,
  onFullSequences,
  rmsNorm,
  rotaryEmbedding,
  scaledDotProductAttention,
  sequenceOffset,
  type AttentionOptions,
  type Attend,
  type AttendLocalHeads,
  type DividedSequences,
  type DropoutOptions,
  type DropoutPlace,
  type GeluOptions,
  type LayerNormOptions,
  type LinearCrossEntropyOptions,
  type RmsNormOptions,
  type RotaryOptions,
} from './functions/index.js';
export { computingAgain, isComputingAgain } from './flops/counting.js';
export { addFlops, countFlops, flopsOfCall } from './flops/flop-counter.js';
export { NO_FLOPS, type Flops } from './flops/operator-flops.js';
export { observeReplays, type ReplayObserver, type ReplayReport } from './recording/observe-replays.js';
export { kernelLayerOf } from './kernel-layer.js';
export {
  canUpdateInGroups,
  canUpdateShards,
  shardedUpdate,
  withShards,
  type ShardedUpdate,
  type ShardRange,
  type SumSquares,
  optimizerState,
  SlotOptimizer,
  namedGradients,
  hasTfjsRule,
  slotListsOf,
  packedShape,
  stateAlignment,
  stateTypeOf,
  type Packing,
  updateInGroups,
  noteUse,
  placeSlots,
  updatesOf,
  withStateOf,
  type OptimizerState,
  type Gradients,
  type NamedGradient,
  type SlotList,
  type Update,
  type UpdateGroup,
} from './optimizer-steps/index.js';
export { replaceInitial } from './initial-values.js';
export { isLive, listedFor, livesWith, registeredVariable } from './live-variables.js';
export { product as productOfMatrices } from './families/product.js';
export { withIndicesChecked } from './families/indexing.js';
export { droppedInputs } from './layers/recurrent.js';
export { resultWithoutValues } from './gradients/saved-shapes.js';
export { hasValuesOnly } from './gradients/values-only.js';
export { lazyOf, lazyTensor } from './pending/lazy.js';
export { portableLists } from './list-math/portable-lists.js';
export { portableBridge } from './portable-bridge.js';
export { cast as castDtype, castGradient as castDtypeGradient } from './precision/index.js';
export type { RegisterOptions } from './register-backend.js';
export {
  baseName,
  formatIn,
  formatName,
  frozenPacked,
  hasOwnValues,
  isFakeQuantized,
  markFakeQuantized,
  packedOf,
  recordBytes,
  recordsName,
  unmarkFakeQuantized,
  unpackedOf,
  type ChannelAxis,
  type Granularity,
  type PackedRecords,
  type PackedValues,
  type StorageDtype,
  type StorageFormat,
} from './packed/index.js';
export {
  assignPacked,
  assignRecords,
  packedLike,
  packedTensor,
  recordTensor,
  requireAcc,
  writeRecords,
} from '#platform/acc-backend';
export { labelOf } from './state/dtypes.js';
export { float16Bits, nearestEven } from './state/narrow.js';
export { requireFirstOrder } from './tape.js';
export { type Choice, type ChoiceStore } from './tuning/tuner.js';
