import { Variable, type Tensor } from '@tensorflow/tfjs-core';
import type { FixedResults, KernelLayerRegistration, TensorBridge } from '@acc/contract';
import {
  libtorchTensor,
  MemoryFlag,
  memoryFlags,
  numThreads,
  operator,
  resetPeakMemory,
  setNumThreads,
  setSeed,
} from '@acc/native';
import { BACKEND_NAME, NATIVE_DTYPE } from '../acc-names.js';
import type { AccBackend } from '../backend.js';
import { nativeLists } from '../list-math/native-lists.js';
import { fusedApply } from '../optimizer-steps/index.js';
import { isFakeQuantized } from '../packed/fake-quantized.js';
import { packedOf, unpackedOf } from '../packed/packed-tensor.js';
import { localShards } from '../shards/local-shards.js';
import { nativeShards } from '../shards/native-shards.js';
import { cast, float8Problem, int8Products, keepIn, setFloat32Precision } from '../precision/index.js';
import { randomLayer } from '../random-layer.js';
import { StepRecorder } from '../recording/recorder.js';
import { nativeState } from '../state/native-state.js';
import { fixKernelChoices } from '../tuning/tuning.js';
import { accFunctions } from './acc-functions.js';
import { accLayerCalls } from './acc-layer-calls.js';
import { deferOn } from './deferred.js';
import { divideMemoryOn } from './divided-memory.js';

const contiguous = operator('aten::contiguous');
const copied = operator('aten::_to_copy');

const OWN_BLOCK = MemoryFlag.contiguous | MemoryFlag.exclusive;

/**
 * The registration of the backend `acc`. It fills every slot, and its tensors are passed without
 * copies.
 */
export const ACC_LAYER: KernelLayerRegistration<AccBackend> = {
  backendName: BACKEND_NAME,
  slotsOf(backend) {
    const bridge: TensorBridge = {
      toNative(x) {
        using values = unpackedOf(x);
        return contiguous(values ?? backend.native(x));
      },
      borrow: (x) => backend.native(x),
      writable: (xs) => writable(backend, xs),
      fromNative: (native, dtype) => backend.tensorOf(libtorchTensor(native), dtype),
    };
    const recorder = new StepRecorder(backend);
    return {
      device: backend.device,
      bridge,
      lists: nativeLists(backend, () => recorder.records),
      state: nativeState(backend),
      functions: accFunctions(backend),
      layerCalls: accLayerCalls(backend),
      fusedApply,
      defer: deferOn(backend, () => recorder.records),
      divideMemory: divideMemoryOn(backend),
      localShards: (options) => localShards(backend, options),
      resetPeakMemory,
      recorder,
      random: randomLayer(bridge),
      // On a GPU, many threads add sums in an arbitrary order.
      ...(backend.device === 'cpu' && { fixResults: () => fixResults(backend) }),
      precision: {
        dtypeOf: (x) => backend.nativeDtypeOf(x),
        cast: (x, to) => cast(x, to, backend.nativeDtypeOf(x)!, x instanceof Variable),
        keepIn,
        int8Products: () => int8Products(backend.device),
        isPacked: (x) => packedOf(x) !== undefined,
        isFakeQuantized,
        float8Problem,
        setFloat32Precision: (precision) => setFloat32Precision(backend.device, precision),
      },
    };
  },
};
function writable(backend: AccBackend, xs: readonly Tensor[]): Tensor[] {
  const seen = new Set<Tensor>();
  const natives = xs.map((x) => {
    // A tensor that occurs twice in the list becomes two tensors.
    if (x instanceof Variable || seen.has(x)) return undefined;
    seen.add(x);
    return backend.nativeToWrite(x);
  });
  const flags = memoryFlags(natives.filter((native) => native !== undefined));
  let known = 0;
  const results = xs.map((x, i) => {
    const native = natives[i];
    const isOwnBlock = native !== undefined && flags[known++] === OWN_BLOCK;
    const dtype = NATIVE_DTYPE[x.dtype as 'float32'];
    if (isOwnBlock && native.dtype === dtype) return x;
    using copy = copied(backend.native(x), dtype);
    return backend.tensorOf(contiguous(copy), x.dtype);
  });
  const kept = new Set(results);
  for (const x of xs) if (!kept.has(x)) x.dispose();
  return results;
}

/**
 * Fixes the number of threads and the choice of kernels, because both change the rounding of sums.
 */
function fixResults(backend: AccBackend): FixedResults {
  const threads = numThreads();
  setNumThreads(1);
  fixKernelChoices(true);
  return {
    shards: nativeShards(backend),
    seed: setSeed,
    restore() {
      setNumThreads(threads);
      fixKernelChoices(false);
    },
  };
}
