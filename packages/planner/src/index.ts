export { predict, type Prediction } from './predict.js';
export { readClusterFile } from './cluster.js';
export { findPlans, type FoundPlans, type SearchCounts } from './search/search.js';
export type { FullPlan, StepPart } from './search/full-plan.js';
export { MEMORY_NAMES } from './memory/device-memory.js';
export type { PlannedRun, UnfitPlan } from './search/planned.js';
export type { AcceleratorChoices, CreateOptions } from './search/create-options.js';
export type { PlanConstraints, SearchOptions } from './search/options.js';
export {
  trainingCost,
  type CostOfBatch,
  type CostOptions,
  type DevicesCostOptions,
  type Range,
  type StepTime,
  type TrainingCost,
} from './cost/training-cost.js';
export type { Constant } from './constants.js';
export type {
  ClusterOptions,
  MeasuredDevice,
  ModelSizesOptions,
  OffloadPlan,
  PlanOptions,
  PredictOptions,
} from './options.js';
export { MODELS, type ModelName } from './models.js';
export { PRESETS, type ClusterType, type PresetName } from './hardware/clusters.js';
export type { Calibration } from './hardware/calibrations.js';
export type { ComputePrecision, Device } from './hardware/devices.js';
export { hopsOf, type Link, type Network, type Topology } from './hardware/links.js';
export type { StepFlops } from './flops.js';
export type { DeviceMemory } from './memory/device-memory.js';
export type { Breakdown } from './breakdown.js';
export {
  allGather,
  allReduceSeconds,
  allToAll,
  broadcast,
  hierarchicalAllReduce,
  reduceScatter,
  ringAllReduce,
  send,
  treeAllReduce,
  type CollectiveSeconds,
  type RankGroup,
} from './collectives/collectives.js';
