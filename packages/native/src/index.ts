export type { GpuFacts, MemoryStats } from './addon.js';
export { UNDEFINED_TENSOR, type OperatorArgument, type OperatorResult } from './call-buffer.js';
export { checksum, hasChecksum } from './checksum.js';
export { arrayTypeOf, dtypeOf, scalarTypeOf } from './dtype.js';
export {
  buildAddon,
  buildMpi,
  DEFAULT_VERSION,
  describeSearch,
  findLibtorch,
  installLibtorch,
  isTestedVersion,
  loadAddon,
  locateAddon,
  locateMpi,
  mpiUnavailableReason,
  ncclState,
  newestWheel,
  prebuiltLines,
  readEnvironment,
  RELEASE_LINES,
  requireLibtorch,
  SUPPORTED_RANGE,
} from '#platform/libtorch';
export type {
  AddonFiles,
  BuildMpiOptions,
  BuildOptions,
  BuildProgress,
  InstallOptions,
  InstallProgress,
  LibtorchEnvironment,
  LibtorchInstall,
  LibtorchOrigin,
  LibtorchSearch,
  MpiLibrary,
  OfferedWheel,
  SearchCandidate,
} from './libtorch/index.js';
export {
  adjustExternalMemory,
  buildConfiguration,
  deviceCount,
  liveTensors,
  bytesByOwner,
  giveMemory,
  memoryStats,
  setMemoryOwner,
  numThreads,
  releaseCachedMemory,
  totalDeviceMemory,
  resetPeakMemory,
  setDefaultDevice,
  setFloat32Precision,
  setNumThreads,
  setSeed,
  setUploadStream,
  synchronize,
  torchVersion,
  type BytesByOwner,
} from './memory.js';
export { observeCalls, type CallObserver } from './observe-calls.js';
export { gpuFacts, ncclUnavailableReason, shmUnavailableReason } from './engines.js';
export {
  operator,
  operatorInPlace,
  operatorWithResults,
  tensorFrom,
  tensorOnHost,
} from '#platform/operators';
export {
  CALL_WORDS,
  COMPARED_WORDS,
  ProcessGroup,
  type CallOptions,
  type GroupOptions,
  type OnMismatch,
  type LoggedCall,
  type RankAccount,
  type AllToAllCounts,
} from './process-group.js';
export { DEFAULT_PATIENCE, SHORTEST_SILENCE_MS, type Patience } from './patience.js';
export type { EngineSpec, HostLayout } from './engine-spec.js';
export { Work } from './work.js';
export {
  abortRecording,
  areAlive,
  cutRecording,
  finishRecording,
  operatorIndex,
  reasonAgainstPrograms,
  Recording,
  refuseRecording,
  resumeRecording,
  startRecording,
  type Allocation,
  type FixedInput,
  type JoinedSizes,
  type OutputMeta,
  type ReplayedCall,
} from './recording.js';
export { bindToShadow, shadowOf, unrecorded } from './recorded-shadows.js';
export { placeRecordedCalls } from './recorded-places.js';
export { Store, type StoreOptions } from './store.js';
export { FileTransfer, TensorFile } from './tensor-file.js';
export { TensorMemory } from './tensor-memory.js';
export { mappedChecksum, mapTensor } from './mapped-tensor.js';
export { libtorchTensor, MemoryFlag, memoryFlags, memoryPart, Tensor } from './tensor.js';
