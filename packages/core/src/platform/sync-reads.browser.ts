import { backend, getBackend, type DataId, type KernelBackend } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { replaceForGood } from '@acc/tfjs-internals';

/** The fields of a backend on WebGPU that are read. They are private in tfjs. */
interface GpuBackend {
  readonly adapterInfo?: { readonly architecture?: string };
  readonly tensorMap?: { get(id: DataId): { readonly values?: unknown } | undefined };
}

const guarded = new WeakSet<KernelBackend>();

/**
 * Refuses synchronous reads where they do not work. On webgpu, tfjs reads through a canvas. With
 * Chromium's renderer in software (SwiftShader), such a read gives zeros and ends the device, so it
 * is an error before it begins. Asynchronous reads work.
 */
export function guardSyncReads(): void {
  const active = backend();
  const { adapterInfo, tensorMap } = active as GpuBackend;
  if (adapterInfo?.architecture !== 'swiftshader' || guarded.has(active)) return;
  guarded.add(active);
  const name = getBackend();
  replaceForGood(active, 'readSync', (own) => (dataId) => {
    // The values are in the memory of the page as well.
    if (tensorMap?.get(dataId)?.values != null) return own.call(active, dataId);
    throw new AccError('ACC_SYNC_READ', `dataSync() does not work on '${name}' without a GPU.`, {
      help: "Use await tensor.data(). clipGradNorm(), gradientNorm and autoLog need dataSync(): use the backend 'webgl' with them.",
    });
  });
}
