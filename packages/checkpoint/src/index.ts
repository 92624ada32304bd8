export { Checkpoints, type CheckpointsContext } from './checkpoints.js';
export { sharedRuns, fullBox, type Box } from './format/boxes.js';
export type { RunInfo } from './format/manifest.js';
export { describeLocation, locationOf, type Location } from './location.js';
export {
  resolveCheckpointOptions,
  type CheckpointOptions,
  type ResolvedCheckpointOptions,
} from './options.js';
export { matchExactly, type OpenedWeights, type StoredNames } from './model/exact-weights.js';
export {
  matchWeights,
  type LoadedWeights,
  type LoadWeightsOptions,
  type MatchedWeights,
  type NameMap,
  type WeightTarget,
} from './model/load-weights.js';
export type { WeightReceiver } from './model/weight-receiver.js';
export { mergeWeights, type MergedWeights } from './model/merge-weights.js';
export { registerFileAddresses } from './model/file-addresses.js';
export { modelFiles } from './model/model-json.js';
export type { StoredWeight } from './model/safetensors-weights.js';
export { openWeights } from './model/stored-weights.js';
export type { StoredNumbers, WeightQuantization } from './model/quantized-weights.js';
export { writeModel, type WriteModelOptions, type WrittenModel } from './model/write-model.js';
export {
  openAsWritten,
  writeWeights,
  type WriteWeightsOptions,
  type WrittenWeight,
} from './model/write-weights.js';
export { openCheckpoint, type Checkpoint } from './read/open.js';
export { readRest, readTree, StoredReference, type ReadTree } from './read/read-state.js';
export { readTensors, storedTensor, type Want } from './read/read-tensors.js';
export type { KeepBest, RetentionOptions } from './retention.js';
export {
  dropRescues,
  findRescue,
  RunSnapshot,
  isFirstRefusal,
  megabytes,
  receiveRescue,
  rescueMemory,
  writeRescue,
  type FoundRescue,
  type Keeper,
  type Rescue,
  type RescueHost,
} from '#platform/rescues';
export { download, fileStorage, indexedDbStorage, opfsStorage } from '#platform/storages';
export type { S3Credentials, S3StorageOptions } from './storage/s3/options.js';
export { s3Storage } from './storage/s3/s3-storage.js';
export { onFirstRank, together } from './together.js';
export type { NamedTensor } from './write/items.js';
export type { SaveRequest } from './write/save.js';
export { fullTensorsOf, type Claim, type BoxOwners, type FullTensor } from './write/full-tensors.js';
