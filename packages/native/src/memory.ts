import { addon, type MemoryStats } from './addon.js';
import type { NativeTensor } from '@acc/contract';
import { guarded } from './errors.js';
import { idsOf } from './ids.js';

/** The current and peak memory of native tensors on the default device, in bytes. */
export function memoryStats(): MemoryStats {
  return addon().memoryStats();
}

/** Sets the peak to the current use. */
export function resetPeakMemory(): void {
  addon().resetPeakMemory();
}

/** Bytes of tensors in memory of the CPU, by owner. */
export interface BytesByOwner {
  readonly now: readonly number[];
  /** When {@link MemoryStats.peakAllocatedBytes} was reached. */
  readonly atPeak: readonly number[];
}

/**
 * How much memory of the CPU each owner has. Owners are numbers from 0 to 7, whose meaning the caller
 * chooses. Memory belongs to the owner that {@link setMemoryOwner} has set when it is allocated.
 */
export function bytesByOwner(): BytesByOwner {
  const bytes = [...addon().memoryOwners()];
  const owners = bytes.length / 2;
  return { now: bytes.slice(0, owners), atPeak: bytes.slice(owners) };
}

/** Sets the owner of what is allocated from now on, by any thread. Default 0. */
export function setMemoryOwner(owner: number): void {
  addon().setMemoryOwner(owner);
}

/** Gives the memory of tensors to another owner. Passes over tensors in memory of another device. */
export function giveMemory(tensors: readonly NativeTensor[], owner: number): void {
  guarded(() => addon().giveMemory(idsOf(tensors), owner));
}

/** Returns cached memory to the operating system, and that of the default device to the device. */
export function releaseCachedMemory(): void {
  addon().releaseCachedMemory();
}

/** The memory of the default device, in bytes. 0 for a CPU, and for a device that does not tell. */
export function totalDeviceMemory(): number {
  return addon().totalDeviceMemory();
}

/** The number of handles that are not disposed. */
export function liveTensors(): number {
  return addon().liveTensors();
}

/**
 * Reports to V8 native memory that only its garbage collector can free, in bytes; negative if the
 * memory is gone. V8 then collects often enough for tensors that were dropped without `dispose`.
 */
export function adjustExternalMemory(bytes: number): void {
  addon().adjustExternalMemory(bytes);
}

/** The number of devices of `kind` (`cpu`, `cuda`) that libtorch can use in this process. */
export function deviceCount(kind: string): number {
  return guarded(() => addon().deviceCount(kind));
}

/**
 * Sets the device on which tensors are created.
 *
 * @param device In libtorch's form: `cpu`, `cuda:0`.
 * @throws AccError `ACC_DEVICE_UNAVAILABLE`.
 */
export function setDefaultDevice(device: string): void {
  guarded(() => addon().setDefaultDevice(device));
}

/**
 * Chooses whether larger tensors are copied to devices on a stream of their own, beside the work that is
 * queued, and not after it. Work that is queued later waits for them. Without effect on CPUs. First
 * false.
 */
export function setUploadStream(isOwn: boolean): void {
  guarded(() => addon().setUploadStream(isOwn));
}

/** Waits until the default device has finished all work. */
export function synchronize(): void {
  guarded(() => addon().synchronize());
}

/** The number of threads that one operator may use. */
export function numThreads(): number {
  return addon().getNumThreads();
}

/** @param count At least 1. */
export function setNumThreads(count: number): void {
  guarded(() => addon().setNumThreads(count));
}

/** Seeds libtorch's own random generators on every device. */
export function setSeed(seed: number): void {
  guarded(() => addon().setSeed(seed));
}

/**
 * Sets how products and convolutions of float32 tensors are computed. `ieee` uses full precision.
 * `tf32` and `bf16` round the factors to these formats if the device can. `default` leaves the
 * choice to libtorch. A device without this ability ignores the setting.
 *
 * @param backend `mkldnn` for CPUs, or `cuda`.
 * @throws AccError `ACC_NATIVE_FAILED` for a precision that the backend does not know.
 */
export function setFloat32Precision(
  backend: 'mkldnn' | 'cuda',
  precision: 'default' | 'ieee' | 'tf32' | 'bf16',
): void {
  guarded(() => addon().setFloat32Precision(backend, precision));
}

/** libtorch's description of its build: BLAS, oneDNN, CPU capability. */
export function buildConfiguration(): string {
  return addon().buildConfiguration();
}

/** The version of the loaded libtorch: `2.13.0`. */
export function torchVersion(): string {
  return addon().torchVersion;
}
