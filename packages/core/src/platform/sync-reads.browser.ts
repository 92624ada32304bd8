import { add, backend, fill, getBackend, tidy, type DataId, type KernelBackend } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { replaceForGood } from '@acc/tfjs-internals';

/** More elements than backends compute on the CPU instead. */
const ELEMENTS = 4096;
const known = new WeakSet<KernelBackend>();

/**
 * Finds out whether the active backend reads values synchronously as they are. On webgpu, tfjs reads
 * through a canvas, which some browsers leave empty: the values are zeros then. From here on such
 * reads are errors, so that they are not taken for results. Asynchronous reads work.
 */
export function guardSyncReads(): void {
  const active = backend();
  if (known.has(active)) return;
  known.add(active);
  const read = tidy(() => add(fill([ELEMENTS], 1), fill([ELEMENTS], 2)).dataSync());
  if (read.every((value) => value === 3)) return;
  const name = getBackend();
  replaceForGood(active, 'readSync', (own) => (dataId) => {
    if (hasValues(active, dataId)) return own.call(active, dataId);
    throw new AccError('ACC_SYNC_READ', `This browser returns wrong values for dataSync() on '${name}'.`, {
      help: "Use await tensor.data(). clipGradNorm(), gradientNorm and autoLog need dataSync(): use the backend 'webgl' with them, or the option gradientClipping.",
    });
  });
}

/** Whether the values are in the memory of the page as well. */
function hasValues(active: KernelBackend, dataId: DataId): boolean {
  const { tensorMap } = active as { tensorMap?: { get(id: DataId): { values?: unknown } } };
  return tensorMap?.get(dataId).values != null;
}
