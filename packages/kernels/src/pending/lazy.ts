import { engine, type TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import { NATIVE_DTYPE } from '../acc-names.js';
import { TensorData } from '../tensor-data.js';
import type { LazyValues, Recipe } from './lazy-values.js';

/** Lazy tensors that nobody has read or disposed. */
const waiting = new Set<WeakRef<TensorData>>();

/**
 * A lazy tensor: its values are computed when somebody reads them. A kernel that needs only this
 * rank's columns computes those alone, and the other columns never take memory. The caller owns it.
 */
export function lazyTensor(
  backend: AccBackend,
  { shape, dtype }: Omit<TensorInfo, 'dataId'>,
  making: Recipe,
): TensorInfo {
  const join = () => {
    const created = making.whole();
    const native = backend.native(created).alias();
    backend.disposeInfo(created);
    release();
    backend.replaceData(info, native);
    return native;
  };
  const data = new TensorData(dtype, undefined, undefined, undefined, join);
  const info = { dataId: backend.hold(data), shape, dtype };
  const place = new WeakRef(data);
  const release = () => {
    if (!data.lazy) return;
    data.lazy = undefined;
    waiting.delete(place);
    for (const input of making.inputs) letGo(backend, input);
  };
  for (const { dataId } of making.inputs) backend.incRef(dataId);
  waiting.add(place);
  data.deferredDtype = NATIVE_DTYPE[dtype as 'float32'] as NativeDtype;
  data.lazy = { columns: shape.at(-1)!, making, release };
  return info;
}

/** Undefined if the values of `x` are there, or come in another way. */
export function lazyOf({ dataId }: TensorInfo): LazyValues | undefined {
  return dataId instanceof TensorData ? dataId.lazy : undefined;
}

/** Makes what waits. A recording must not: what was made before it would be made anew in each replay. */
export function computeLazy(): void {
  for (const place of waiting) {
    waiting.delete(place);
    const data = place.deref();
    try {
      if (data?.lazy) void data.native;
    } catch {
      // Whoever reads it gets the error.
    }
  }
}

/** Gives up a use of data. tfjs counts data whose last tensor it has disposed before. */
function letGo(backend: AccBackend, { dataId }: TensorInfo): void {
  if (backend.disposeData(dataId)) engine().removeDataId(dataId, backend);
}
