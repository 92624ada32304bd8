export {
  sumOfCounts,
  type AccumulationState,
  type GradientAccumulation,
  type HeldGradients,
  type HeldPasses,
  type ItemCounts,
} from './accumulation.js';
export { MAX_JSON_DEPTH, parseJson } from './parse-json.js';
export { parseOptions, showValue } from './parse-options.js';
export { checkKeys, nearestName } from './check-keys.js';
export type {
  AllGatherOptions,
  FlatOptions,
  AllReduceOptions,
  ShardVerbOptions,
  CoalescedOptions,
  MessageOptions,
  Collective,
  CollectiveOf,
  NativeCollective,
  Traffic,
  Pending,
  ReduceOp,
} from './collective.js';
export type { DivideMemory, DividedMemory, MemoryRange } from './memory-parts.js';
export type { Defer, DeferredInfo, DeferredTensor } from './deferred-tensor.js';
export type { Determinism } from './determinism.js';
export type { RankPlace } from './rank-place.js';
export { ENGINE_CHOICES, type EngineChoice } from './engine-choice.js';
export { AccError, isAccError, type AccErrorOptions } from './errors.js';
export { flattenConfig } from './flatten-config.js';
export { SAVED_EXIT_CODE } from './exit-codes.js';
export { finallyAfter } from './finally-after.js';
export { forwardRanksOf, knowForwardRanks, type ForwardRanks } from './forward-ranks.js';
export { hashOf } from './hash-of.js';
export { isPrepared, notePrepared, preparationOf, type Preparation } from './preparations.js';
export { cutOf, heldPartOf, holdPart, markCut, type Cut, type HeldPart } from './held-part.js';
export { lossSeed, lossSeedReads, withLossSeed } from './loss-seed.js';
export type { ProductSums, RunForward, TapedForward } from './taped-forward.js';
export { TAPE_HOOK_KEYS, type PackedTensor, type TapeHooks, type TapePhase } from './tape-hooks.js';
export {
  FUSED_LAYERS,
  type AttentionBlock,
  type AttentionBlockSettings,
  type AttentionSettings,
  type FusedFunctions,
  type FusedLayerCall,
  type FusedLayerCalls,
  type NormSettings,
  type RotarySettings,
} from './fused-functions.js';
export {
  checkSlots,
  kernelLayerChanges,
  registeredKernelLayer,
  registerKernelLayer,
  type KernelLayerRegistration,
  type KernelLayerSlots,
} from './kernel-layer-registry.js';
export type {
  FixedResults,
  Float32Precision,
  KernelLayer,
  PrecisionLayer,
  RandomLayer,
  TensorBridge,
} from './kernel-layer.js';
export type { ListMath, Unscaled } from './list-math.js';
export type { LocalPiece, LocalPieces, LocalPiecesOptions, PieceOwner } from './local-pieces.js';
export { parallelPartsOf, type ParallelLayer, type ParallelPart, type WeightCut } from './parallel-parts.js';
export { boundMembers } from './bound-members.js';
export { matchesGlob } from './matches-glob.js';
export { medianLow } from './median-low.js';
export { DATA_AXES, FORWARD_AXES, GRADIENT_AXES, MESH_AXES, type Mesh, type MeshAxis } from './mesh.js';
export {
  hostTensor,
  ownHostTensor,
  type NativeDtype,
  type NativeTensor,
  type NativeValues,
} from './native-tensor.js';
export {
  repetitionsOf,
  rowsAt,
  withoutOthersRows,
  type PiecedInfo,
  type PieceLayout,
  type Pieces,
  type PiecesLayer,
  type RowsAt,
} from './pieces.js';
export { afterAll, allPending, PendingResult } from './pending-result.js';
export {
  PLUGIN_KEYS,
  type AutocastOptions,
  type LossInfo,
  type PassInfo,
  type Plugin,
  type PrecisionPlugin,
  type SettleInfo,
  type StepInfo,
} from './plugin.js';
export { poll, type PollOptions } from './poll.js';
export type { ActionOptions, Fusion, Recorded, RecordedAction, Recorder, Recording } from './recording.js';
export { isPlainRecord, isRecord } from './records.js';
export {
  fingerprintOf,
  haveSameValues,
  requireSameBatch,
  requireSameLoss,
  type Fingerprint,
} from './same-batch.js';
export { requireEqualOptions, requireSameOptions, type OptionsOfRank } from './require-same-options.js';
export { sendRequest, type Answer, type SentRequest } from './send-request.js';
export { stagedInPlace, type StagedStep, type StagedWeights, type StagePlacement } from './staged-weights.js';
export { isThere } from './gradient-records.js';
export type { GetOptions, Storage, StoredObject } from './storage.js';
export type { RankState, StateArray, Stateful, StateTree } from './state.js';
export type { MappedTensor, StateLayer, TensorBytes, UnfilledTensor } from './state-layer.js';
export {
  STRATEGY_MEMBERS,
  STRATEGY_TRAITS,
  type BatchRows,
  type GradientReduction,
  type Strategy,
  type StrategyContext,
  type StrategyTraits,
  type TensorShard,
} from './strategy.js';
export { runsOfShard, type ShardRun } from './shard-runs.js';
export {
  decodeTagged,
  encodeTagged,
  tagged,
  type Json,
  type Tag,
  type TaggedJsonRules,
} from './tagged-json.js';
export {
  TRACKER_KEYS,
  type Cell,
  type ConfigValue,
  type MetricsRow,
  type RunConfig,
  type RunInfo,
  type RunStatus,
  type Stamp,
  type TrackedArtifact,
  type TrackedFile,
  type TrackedHistogram,
  type TrackedImage,
  type TrackedTable,
  type Tracker,
  type TrackerFactory,
} from './tracker.js';
export { valuesOf } from './values-of.js';
export { withLifecycle } from './with-lifecycle.js';
export { asTrial, isInTrial } from './trial.js';
