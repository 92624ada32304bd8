// It comes first: later modules may fail in a Node.js that is too old.
export {} from './require-node.js';
export { initEmptyWeights, type DeviceBytes, type DispatchOptions, type LayerDevices } from '@acc/big-model';
export {
  AccError,
  isAccError,
  type Plugin,
  type ReduceOp,
  type RunConfig,
  type RunStatus,
  type Stateful,
  type StateTree,
  type Storage,
  type Strategy,
  type Traffic,
  type Tracker,
} from '@acc/contract';
export {
  download,
  fileStorage,
  indexedDbStorage,
  modelFiles,
  opfsStorage,
  s3Storage,
  type CheckpointOptions,
  type KeepBest,
  type LoadedWeights,
  type LoadWeightsOptions,
  type NameMap,
  type S3Credentials,
  type S3StorageOptions,
  type StoredNumbers,
  type WeightQuantization,
  type WeightTarget,
  type WriteModelOptions,
} from '@acc/checkpoint';
export type { CompiledStep, CompileOptions } from '@acc/compile';
export type {
  BytesOfOwners,
  LayerRow,
  MemoryOwner,
  MemorySample,
  OperatorRow,
  Peak,
  Profile,
  ProfileOptions,
  StepParts,
} from '@acc/profile';
export {
  diagnose,
  joinSamples,
  parseRecords,
  readRecords,
  type Detector,
  type Diagnosis,
  type Facts,
  type Finding,
  type JoinedStep,
  type RecordedRun,
  type SampleRow,
  type StepRow,
} from '@acc/records';
export { DataLoader } from '@acc/data';
export { checkpoint, currentPass, type Nested, type PassContext } from '@acc/tape';
export {
  cut,
  parallelize,
  type CutOptions,
  type ParallelPlan,
  type ParallelStyle,
} from '@acc/tensor-parallel';
export {
  dropout,
  gelu,
  layerNorm,
  linearCrossEntropy,
  rmsNorm,
  rotaryEmbedding,
  scaledDotProductAttention,
  type AttentionOptions,
  type DropoutOptions,
  type GeluOptions,
  type LayerNormOptions,
  type LinearCrossEntropyOptions,
  type RmsNormOptions,
  type RotaryOptions,
} from '@acc/kernels';
export {
  adafactor,
  adamw,
  lamb,
  lion,
  oneBitAdam,
  registerOptimizers,
  sgdw,
  type Adafactor,
  type AdafactorOptions,
  type AdamW,
  type AdamWOptions,
  type Lamb,
  type LambOptions,
  type Lion,
  type LionOptions,
  type NameFilter,
  type OneBitAdam,
  type OneBitAdamOptions,
  type SgdW,
  type SgdWOptions,
} from '@acc/optimizers';
export {
  gradientNoiseScale,
  LRScheduler,
  scaleLearningRate,
  type ConstantOptions,
  type CosineOptions,
  type GradientNoiseScale,
  type GradientNoiseScaleOptions,
  type LinearOptions,
  type NoiseScaleState,
  type OneCycleOptions,
  type PolynomialOptions,
  type ScalingRule,
  type ScheduleOptions,
  type ScheduleState,
  type StepOptions,
} from '@acc/schedule';
export {
  consoleTracker,
  csvTracker,
  jsonlTracker,
  type ArtifactOptions,
  type ModelOptions,
  type ConsoleOptions,
  type CsvOptions,
  type HistogramInput,
  type HistogramOptions,
  type ImageInput,
  type ImageInputs,
  type JsonlOptions,
  type LogOptions,
  type MetricValues,
  type RunOptions,
  type TableInput,
} from '@acc/tracker';
export { Accelerator, type MeshView } from './accelerator.js';
export { findExecutableBatchSize } from './find-batch-size.js';
export { DiLoCo, type DiLoCoOptions, type DiLoCoState } from './local-steps/diloco.js';
export { LocalSGD, type LocalSgdOptions } from './local-steps/local-sgd.js';
export type { Trained } from './local-steps/local-steps.js';
export { getLogger, type Logger, type LoggerOptions, type LogLevel, type MessageOptions } from './logger.js';
export type {
  ContextOptions,
  AcceleratorOptions,
  Alert,
  AutoLogOptions,
  BucketVariable,
  CollectiveOptions,
  CommHook,
  CommHookName,
  CommHookState,
  DataLoaderOptions,
  MeshOptions,
  GradientBucket,
  GradientClippingOptions,
  NamedCommHook,
  OneBitOptions,
  PipelineOptions,
  PowerSgdOptions,
  StateValues,
  TopKOptions,
} from './options.js';
export { castHook, oneBitHook, powerSgdHook, topKHook } from './presets/strategy.js';
export type { Gathered } from './nested/gather-real.js';
export type { PadOptions } from './nested/pad-across.js';
export type { SplitOptions, Splittable } from './nested/split-between.js';
export {
  concatenate,
  findBatchSize,
  getDataStructure,
  initializeTensors,
  listify,
  recursivelyApply,
  sliceTensors,
  type DataStructure,
  type InPlaceOfTensors,
  type TensorInformation,
} from './nested/tree-helpers.js';
export { setSeed } from './random/math-random.js';
export { synchronizeRngStates, type RandomSourceName } from './random/synchronize.js';
export { registerHook, type LayerHook, type LayerTensors } from './layer-hooks.js';
export type { RemovableHandle, StateHookInfo, StatePreHook } from './state/state-hooks.js';
export { computeModuleSizes, getMaxMemory, inferAutoDeviceMap } from './state/device-maps.js';
export { dispatchModel, loadCheckpointAndDispatch } from './state/dispatch.js';
export type { Weighted } from './state/model-weights.js';
export type { LoadStateOptions, RestoredRun, SaveStateOptions } from './state/run-checkpoints.js';
export type { AccumulateOptions } from './step/training-step.js';
