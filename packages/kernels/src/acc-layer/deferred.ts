import { engine, util, type BackendValues, type Tensor } from '@tensorflow/tfjs-core';
import type { Defer } from '@acc/contract';
import { operator, refuseRecording } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { TensorData } from '../tensor-data.js';

const contiguous = operator('aten::contiguous');
const reshape = operator('aten::reshape');
const slice = operator('aten::slice.Tensor');

const READ = 'it reads weights that other ranks have outside of a pass, or a sharded gradient';

/**
 * Deferred tensors of the backend `acc`. Values are views of the tensors that they are filled with.
 *
 * @param records Whether a step is being recorded: what loads values is not one of its calls.
 */
export function deferOn(backend: AccBackend, records: () => boolean): Defer {
  return ({ shape, dtype, held, like, readOnce }, load) => {
    const data: TensorData = new TensorData(dtype, undefined, undefined, undefined, () => {
      if (records()) refuseRecording(READ);
      load();
      return data.held!;
    });
    if (readOnce) {
      data.reader = () => {
        if (records()) refuseRecording(READ);
        return valuesOf(readOnce());
      };
    }
    if (like && !like.isDisposed) data.deferredDtype = backend.heldNative(like)?.dtype;
    const own = held && contiguous(backend.native(held));
    held?.dispose();
    if (own) data.attach([own]);
    const info = { dataId: backend.hold(data), shape: [...shape], dtype };
    return {
      tensor: engine().makeTensorFromTensorInfo(info, backend),
      get isFilled() {
        return data.held !== undefined;
      },
      get holders() {
        return data.isDisposed ? 0 : data.refCount;
      },
      fill: (values, begin) => fillFrom(backend, data, { values, begin, shape }),
      release: () => data.release(),
      held: () => own && backend.tensorOf(own.alias(), dtype),
    };
  };
}

function valuesOf(read: Tensor | undefined): BackendValues | undefined {
  const values = read?.dataSync();
  read?.dispose();
  return values;
}

interface Filling {
  readonly values: Tensor;
  readonly begin: number | undefined;
  /** Of the deferred tensor. */
  readonly shape: readonly number[];
}

/** Fills data with a view, even of a small part: the owner releases it when the memory is to be freed. */
function fillFrom(backend: AccBackend, data: TensorData, { values, begin = 0, shape }: Filling): void {
  const size = util.sizeFromShape([...shape]);
  const native = backend.native(values);
  if (size === values.size) return data.fill(reshape(native, shape));
  using part = slice(native, 0, begin, begin + size, 1);
  data.fill(reshape(part, shape));
}
