import { replaceForGood } from '@acc/tfjs-internals';
import type { Operators } from './operators.js';

/**
 * Makes the backend free, together with the data of a tensor, what the layer has put beside it:
 * converted values, and the values of a deferred tensor. Until the process ends.
 */
export function freeWithData({ backend, binding }: Operators): void {
  const { tensorMap } = backend;
  replaceForGood(backend, 'disposeData', (own) => (dataId, force = false) => {
    const entry = tensorMap.has(dataId) ? tensorMap.get(dataId) : undefined;
    if (entry?.release) {
      // tfjs-node's own method reads the id, which would load the values.
      entry.refCount--;
      if (!force && entry.refCount > 0) return false;
      entry.release();
      tensorMap.delete(dataId);
    } else if (!own.call(backend, dataId, force)) return false;
    if (entry?.converted) binding.deleteTensor(entry.converted.id);
    return true;
  });
}
