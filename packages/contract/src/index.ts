export { counted } from './text/counted.js';
export { jsonMistake, type JsonMistake } from './json/json-mistake.js';
export { MAX_JSON_DEPTH, parseJson } from './json/parse-json.js';
export { parseOptions, showValue } from './options/parse-options.js';
export { checkKeys, nearestName } from './options/check-keys.js';
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
} from './collective/collective.js';
export type { DivideMemory, DividedMemory, MemoryRange } from './kernel-layer/memory-parts.js';
export type { Defer, DeferredInfo, DeferredTensor } from './tensor/deferred-tensor.js';
export type { RankPlace } from './job/rank-place.js';
export { COMM_HOOKS, type CommHookName, type CommHookTraits } from './comm-hooks.js';
export { ENGINE_CHOICES, type EngineChoice } from './job/engine-choice.js';
export { engineAdvice } from './errors/engine-advice.js';
export { AccError, isAccError, showsWholeStack, withoutHelp, type AccErrorOptions } from './errors/errors.js';
export { isOfThisProject, programFrames, programStack } from './errors/program-frames.js';
export { flattenConfig } from './tracker/flatten-config.js';
export { SAVED_EXIT_CODE } from './job/exit-codes.js';
export { noteExpertLoad, observeExpertLoads, type ExpertLoadObserver } from './job/expert-loads.js';
export { duringWait, noteWait, observeWaits, type Wait, type WaitObserver } from './job/waits.js';
export { finallyAfter } from './async/finally-after.js';
export { hashOf } from './collective/hash-of.js';
export { isPrepared, notePrepared, preparationOf, type Preparation } from './strategy/preparations.js';
export { cutOf, localPartOf, holdPart, markCut, type Cut, type LocalPart } from './strategy/local-part.js';
export type { ProductSums, RunForward, RunForwardOptions, TapedForward } from './tape/taped-forward.js';
export { TAPE_HOOK_KEYS, type PackedTensor, type TapeHooks, type TapePhase } from './tape/tape-hooks.js';
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
} from './kernel-layer/fused-functions.js';
export {
  checkSlots,
  kernelLayerChanges,
  registeredKernelLayer,
  registerKernelLayer,
  type KernelLayerRegistration,
  type KernelLayerSlots,
} from './kernel-layer/kernel-layer-registry.js';
export type {
  FixedResults,
  Float32Precision,
  KernelLayer,
  PrecisionLayer,
  RandomLayer,
  TensorBridge,
} from './kernel-layer/kernel-layer.js';
export {
  FACTOR_ROLES,
  ROLES_OF,
  type EightBitProduct,
  type EightBitRounding,
  type FactorRole,
  type Float8Rounding,
  type Int8Rounding,
} from './kernel-layer/eight-bits.js';
export type { ListMath, Unscaled } from './kernel-layer/list-math.js';
export type { LocalShard, LocalShards, LocalShardsOptions, ShardOwner } from './kernel-layer/local-shards.js';
export type { ParallelLayer, ParallelPart, WeightCut } from './strategy/parallel-parts.js';
export { boundMembers } from './records/bound-members.js';
export { matchesGlob } from './options/matches-glob.js';
export { medianLow } from './statistics/median-low.js';
export {
  DATA_AXES,
  FORWARD_AXES,
  GRADIENT_AXES,
  MESH_AXES,
  type Mesh,
  type MeshAxis,
} from './collective/mesh.js';
export {
  hostTensor,
  ownedHostTensor,
  type NativeDtype,
  type NativeTensor,
  type NativeValues,
} from './tensor/native-tensor.js';
export {
  repetitionsOf,
  rowsAt,
  localRowsShape,
  type ShardedInfo,
  type ShardLayout,
  type TensorShards,
  type ShardsLayer,
  type RowsAt,
} from './kernel-layer/shards.js';
export { afterAll, allPending, PendingResult } from './collective/pending-result.js';
export {
  PLUGIN_KEYS,
  type AutocastOptions,
  type LossInfo,
  type PassInfo,
  type Plugin,
  type PrecisionPlugin,
  type SettleInfo,
  type StepInfo,
} from './plugin/plugin.js';
export { poll, type PollOptions } from './async/poll.js';
export type {
  ActionOptions,
  Fusion,
  Recorded,
  RecordedAction,
  Recorder,
  Recording,
} from './kernel-layer/recording.js';
export { isPlainRecord, isRecord } from './records/records.js';
export {
  fingerprintOf,
  haveSameValues,
  requireSameBatch,
  requireSameLoss,
  type Fingerprint,
} from './collective/same-batch.js';
export {
  requireEqualOptions,
  requireSameOptions,
  type OptionsOfRank,
} from './collective/require-same-options.js';
export { sendRequest, type Answer, type SentRequest } from './http/send-request.js';
export type { StagedStep, StagedWeights, StagePlacement } from './strategy/staged-weights.js';
export { isThere } from './tape/gradient-records.js';
export type { GetOptions, Storage, StoredObject } from './storage/storage.js';
export type { RankState, StateArray, Stateful, StateTree } from './storage/state.js';
export type { MappedTensor, StateLayer, TensorBytes, UnfilledTensor } from './kernel-layer/state-layer.js';
export {
  STRATEGY_GROUPS,
  STRATEGY_MEMBERS,
  STRATEGY_TRAITS,
  type BatchRows,
  type GradientReduction,
  type Strategy,
  type StrategyContext,
  type StrategyGradients,
  type StrategyLayout,
  type StrategyState,
  type StrategyTraits,
  type TensorShard,
} from './strategy/strategy.js';
export { runsOfShard, type ShardRun } from './strategy/shard-runs.js';
export {
  decodeTagged,
  encodeTagged,
  tagged,
  type Json,
  type Tag,
  type TaggedJsonRules,
} from './json/tagged-json.js';
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
  type TrackedModel,
  type TrackedFile,
  type TrackedHistogram,
  type TrackedImage,
  type TrackedTable,
  type Tracker,
  type TrackerFactory,
} from './tracker/tracker.js';
export { valuesOf } from './tensor/values-of.js';
export { withLifecycle } from './tracker/with-lifecycle.js';
