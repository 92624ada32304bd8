export { predict, type Prediction } from './predict.js';
export type { ClusterOptions, ModelSizesOptions, PlanOptions, PredictOptions } from './options.js';
export { PRESETS, type ClusterType, type PresetName } from './hardware/clusters.js';
export type { Calibration } from './hardware/calibrations.js';
export type { ComputePrecision, Device } from './hardware/devices.js';
export { hopsOf, type Link, type Network, type Topology } from './hardware/links.js';
export type { StepFlops } from './flops.js';
export type { DeviceMemory } from './memory/device-memory.js';
export type { Breakdown } from './time/step.js';
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
