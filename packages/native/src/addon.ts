import { loadAddon } from '#platform/libtorch';

/**
 * The arguments of every function that creates a group. With `isBlocking` it returns the group,
 * otherwise a promise of it.
 */
export type GroupArguments = [
  store: number,
  name: string,
  rank: number,
  size: number,
  times: Float64Array,
  worldRanks: Int32Array,
  isBlocking: boolean,
];

type HostPlace = [host: number, hosts: number, localRank: number, localSize: number];

/**
 * The functions of the C++ addon (`cpp/binding`). Objects that the addon holds are referred to by
 * numbers.
 */
export interface Addon {
  readonly torchVersion: string;
  createTensor(
    bytes: NodeJS.ArrayBufferView,
    scalarType: number,
    shape: readonly number[],
    isOnHost: boolean,
  ): number;
  /** 0 if new tensors are not in host memory, or the array is empty. */
  tensorOver(array: NodeJS.ArrayBufferView, scalarType: number, shape: readonly number[]): number;
  mapTensor(path: string, start: number, scalarType: number, shape: readonly number[]): number | undefined;
  mappedChecksum(id: number, start: number, length: number): Promise<number | undefined>;
  openTensorFile(folder: string, name: string): number;
  tensorFilePath(file: number): string;
  startTransfer(file: number, isWrite: boolean, tensors: Float64Array, offsets: Float64Array): number;
  waitTransfer(transfer: number): void;
  closeTensorFile(file: number): void;
  readTensor(id: number, scalarType: number): ArrayBuffer;
  readTensorAsync(id: number, scalarType: number): Promise<ArrayBuffer>;
  aliasTensor(id: number): number;
  memoryPart(id: number, start: number, length: number): number;
  tensorBytes(id: number): number;
  tensorFlags(ids: Float64Array): Uint8Array;
  tensorMemory(id: number): ArrayBuffer;
  detachMemory(buffer: ArrayBuffer): void;
  liveTensors(): number;
  tensorsAlive(ids: Float64Array): boolean;
  releaseTensor(id: number): void;
  resolveOperator(name: string): { index: number; kinds: number[]; names: string[] };
  setCallBuffers(input: Float64Array, output: Float64Array): void;
  internString(text: string): number;
  call(operatorIndex: number): void;
  startRecording(onRefused?: () => void): void;
  cutRecording(outputs: Float64Array): Float64Array;
  resumeRecording(given: Float64Array, forgotten: Float64Array): void;
  finishRecording(): number | string;
  abortRecording(): void;
  placeRecordedCalls(place: number): void;
  refuseRecording(reason: string): void;
  recordCalls(isOn: boolean): boolean;
  recordingShadow(tensor: number): number;
  bindRecorded(tensor: number, shadow: number): void;
  /** `inputs`: the segment, the place among its inputs and the handle of each. */
  fixRecordedInputs(recording: number, inputs: Float64Array): void;
  recordingDifference(recording: number, other: number): [text: string, place: number];
  describeRecording(recording: number): string;
  recordedConstant(recording: number, value: number): number;
  recordingTimes(recording: number): string;
  recordingSpans(recording: number): Float64Array;
  reasonAgainstPrograms(): string;
  rewriteRecording(recording: number, plan: Float64Array): void;
  sealRecording(recording: number): void;
  shapeOfRecordedCalls(recording: number): number;
  joinRecordings(recording: number, other: number): Float64Array;
  useRecordedSizes(recording: number, sizes: number): void;
  releaseRecordedSizes(recording: number, sizes: number): void;
  resetRecording(recording: number): void;
  releaseRecording(recording: number): void;
  recordingAllocations(recording: number): Float64Array;
  planRecordingMemory(recording: number, places: Float64Array, bytes: number): void;
  isRecordingMemoryPlanned(recording: number, sizes: number): boolean;
  replaySegment(recording: number, segment: number): void;
  memoryStats(): MemoryStats;
  resetPeakMemory(): void;
  memoryOwners(): Float64Array;
  setMemoryOwner(owner: number): void;
  giveMemory(tensors: Float64Array, owner: number): void;
  releaseCachedMemory(): void;
  totalDeviceMemory(): number;
  adjustExternalMemory(bytes: number): number;
  setDefaultDevice(device: string): void;
  setUploadStream(isOwn: boolean): void;
  synchronize(): void;
  deviceCount(kind: string): number;
  setNumThreads(count: number): void;
  getNumThreads(): number;
  setSeed(seed: number): void;
  setFloat32Precision(backend: string, precision: string): void;
  hasChecksum(): boolean;
  checksum(bytes: Uint8Array): Promise<number>;
  buildConfiguration(): string;
  connectStore(
    host: string,
    port: number,
    isServer: boolean,
    worldSize: number,
    timeoutMs: number,
  ): Promise<number>;
  storeFind(store: number, key: string): string | undefined;
  storeAgree(store: number, key: string, value: string): string;
  createGlooGroup(...given: [...GroupArguments, address: string]): number | Promise<number>;
  createShmGroup(...given: GroupArguments): number | Promise<number>;
  createHierarchicalGroup(
    ...given: [...GroupArguments, address: string, ...HostPlace]
  ): number | Promise<number>;
  createMpiGroup(...given: [...GroupArguments, library: string]): number | Promise<number>;
  createNcclGroup(
    ...given: [...GroupArguments, address: string, streamWaits: boolean]
  ): number | Promise<number>;
  ncclUnavailableReason(): string;
  gpuFacts(index: number, driver: string): GpuFacts | undefined;
  groupPublish(group: number, topic: string, report: string): void;
  groupNote(group: number, number: number, call: string): void;
  groupAccounts(group: number, topic: string): (boolean | string)[];
  shmUnavailableReason(): string;
  setCollectiveBuffer(buffer: Float64Array): void;
  startCollective(): number;
  waitWork(work: number): void;
  isWorkDone(work: number): boolean;
  closeGroup(group: number): void;
  closeStoreDoor(store: number): DoorReport;
  closeStore(store: number): void;
}

/** The work of the watch on the store's port. */
export interface DoorReport {
  /** The number of connections that it ended. */
  readonly ended: number;
  /** Whether it refused newcomers, because too much was sent. */
  readonly isFull: boolean;
}

/** A GPU of NVIDIA. */
export interface GpuFacts {
  readonly name: string;
  /** The same in all processes that see the GPU. A slice of a GPU (MIG) has its own. */
  readonly uuid: string;
  /** Its compute capability: `9.0`. */
  readonly capability: string;
}

/** The memory of native tensors on the default device, in bytes. */
export interface MemoryStats {
  readonly allocatedBytes: number;
  readonly peakAllocatedBytes: number;
  /** Allocated bytes, and bytes kept for reuse. */
  readonly reservedBytes: number;
  /** The number of allocations since the process began. */
  readonly allocations: number;
}

let loaded: Addon | undefined;

/** The addon, which is loaded on first use. @throws AccError like {@link loadAddon}. */
export function addon(): Addon {
  loaded ??= loadAddon() as Addon;
  return loaded;
}
