import { addon, type MemoryStats } from './addon.js';
import { guarded } from './errors.js';

/** Bytes of CPU memory that native tensors use now and used at most. */
export function memoryStats(): MemoryStats {
  return addon().memoryStats();
}

/** Makes the present use the peak. */
export function resetPeakMemory(): void {
  addon().resetPeakMemory();
}

/** Returns memory kept for reuse to the system. */
export function releaseCachedMemory(): void {
  addon().releaseCachedMemory();
}

/** Handles that were not disposed yet. */
export function liveTensors(): number {
  return addon().liveTensors();
}

/**
 * Tells V8's garbage collector of native bytes that only it can free (negative: that they are gone), so that it
 * keeps pace with tensors which were dropped without `dispose`.
 */
export function adjustExternalMemory(bytes: number): void {
  addon().adjustExternalMemory(bytes);
}

/** Devices of `kind` (`cpu`, `cuda`) that libtorch can use here. */
export function deviceCount(kind: string): number {
  return guarded(() => addon().deviceCount(kind));
}

/**
 * Where tensors are made from now on.
 *
 * @param device As libtorch writes it: `cpu`, `cuda:0`.
 * @throws AccError `ACC_DEVICE_UNAVAILABLE`.
 */
export function setDefaultDevice(device: string): void {
  guarded(() => addon().setDefaultDevice(device));
}

/** Waits for what the default device still computes. */
export function synchronize(): void {
  guarded(() => addon().synchronize());
}

/** Threads that one operator may use. */
export function numThreads(): number {
  return addon().getNumThreads();
}

/** @param count At least 1. */
export function setNumThreads(count: number): void {
  guarded(() => addon().setNumThreads(count));
}

/** Seeds libtorch's own random generators, on every device. */
export function setSeed(seed: number): void {
  guarded(() => addon().setSeed(seed));
}

/**
 * How products and convolutions of float32 tensors are computed: `ieee` as such, `tf32` and `bf16` with factors rounded to so
 * many bits, where the device can; `default` as libtorch does by itself. A device that cannot goes on as before.
 *
 * @param backend `mkldnn` for CPUs, `cuda`.
 * @throws AccError `ACC_NATIVE_FAILED` for a precision that the backend does not know.
 */
export function setFloat32Precision(
  backend: 'mkldnn' | 'cuda',
  precision: 'default' | 'ieee' | 'tf32' | 'bf16',
): void {
  guarded(() => addon().setFloat32Precision(backend, precision));
}

/** libtorch's own account of how it was built: BLAS, oneDNN, CPU capability. */
export function buildConfiguration(): string {
  return addon().buildConfiguration();
}

/** The version of the libtorch that is loaded: `2.13.0`. */
export function torchVersion(): string {
  return addon().torchVersion;
}
