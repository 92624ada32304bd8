import { tensor, Variable, type DataType, type KernelBackend, type Tensor } from '@tensorflow/tfjs-core';
import {
  AccError,
  type FixedResults,
  type KernelLayer,
  type NativeTensor,
  type TensorBridge,
} from '@acc/contract';
import {
  MemoryFlag,
  memoryFlags,
  numThreads,
  operator,
  setNumThreads,
  setSeed,
  tensorFrom,
  type Tensor as Handle,
} from '@acc/native';
import { BACKEND_NAME, NATIVE_DTYPE, type AccBackend } from './backend.js';
import { freeActivations, fuseLayers } from './layers/index.js';
import { nativeLists } from './list-math/native-lists.js';
import { portableLists } from './list-math/portable-lists.js';
import { fusedApply } from './optimizers/index.js';
import { nativePieces } from './pieces/native-pieces.js';
import { portablePieces } from './pieces/portable-pieces.js';
import { cast, float8Problem, keepIn, setFloat32Precision } from './precision/index.js';
import { randomLayer } from './random-layer.js';
import { StepRecorder } from './recording/recorder.js';
import { nativeState } from './state/native-state.js';
import { portableState } from './state/portable-state.js';
import { fixKernelChoices } from './tuning/tuning.js';

const contiguous = operator('aten::contiguous');
const copied = operator('aten::_to_copy');

const OWN_BLOCK = MemoryFlag.contiguous | MemoryFlag.exclusive;

/** The kernel layer of a tfjs backend: without copies for `acc`, by host buffers for every other. */
export function kernelLayerOf(backendName: string, backend: unknown): KernelLayer {
  return backendName === BACKEND_NAME
    ? accLayer(backend as AccBackend)
    : hostLayer(backendName, backend as KernelBackend);
}

function accLayer(backend: AccBackend): KernelLayer {
  const bridge: TensorBridge = {
    toNative: (x) => contiguous(backend.native(x)),
    borrow: (x) => backend.native(x),
    writable: (xs) => writable(backend, xs),
    fromNative: (native, dtype) => backend.tensorOf(native as Handle, dtype),
  };
  return {
    ...bridge,
    backendName: BACKEND_NAME,
    device: backend.device,
    lists: nativeLists(backend),
    state: nativeState(backend),
    fusedApply,
    fuseLayers,
    recorder: new StepRecorder(backend),
    freeActivations,
    random: randomLayer(bridge),
    // On a GPU sums are made by many threads in any order.
    ...(backend.device === 'cpu' && { fixResults: () => fixResults(backend) }),
    precision: {
      dtypeOf: (x) => backend.nativeDtypeOf(x),
      cast: (x, to) => cast(x, to, backend.nativeDtypeOf(x)!, x instanceof Variable),
      keepIn,
      float8Problem,
      setFloat32Precision: (precision) => setFloat32Precision(backend.device, precision),
    },
  };
}

function writable(backend: AccBackend, xs: readonly Tensor[]): Tensor[] {
  const seen = new Set<Tensor>();
  const natives = xs.map((x) => {
    // A tensor that is in the list twice becomes two.
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

/** Sums depend on how many threads share them, and on the kernel. */
function fixResults(backend: AccBackend): FixedResults {
  const threads = numThreads();
  setNumThreads(1);
  fixKernelChoices(true);
  return {
    pieces: nativePieces(backend),
    seed: setSeed,
    restore() {
      setNumThreads(threads);
      fixKernelChoices(false);
    },
  };
}

/** The backend whose kernels are plain JavaScript, one after the other. */
const PLAIN_BACKEND = 'cpu';

function hostLayer(backendName: string, backend: KernelBackend): KernelLayer {
  return {
    backendName,
    device: 'cpu',
    lists: portableLists(),
    state: portableState(),
    ...(backendName === PLAIN_BACKEND && { fixResults: () => portablePieces(backendName, backend) }),
    toNative(x: Tensor): NativeTensor {
      if (x.dtype === 'string') {
        throw new AccError('ACC_NOT_NATIVE', `A tensor of dtype ${x.dtype} has no native form.`);
      }
      return tensorFrom(x.dataSync() as NodeJS.TypedArray, NATIVE_DTYPE[x.dtype], x.shape);
    },
    fromNative(native: NativeTensor, dtype: DataType): Tensor {
      const values = (native as Handle).read(NATIVE_DTYPE[dtype as 'float32']) as Float32Array;
      const result = tensor(values, native.shape as number[], dtype);
      native.dispose();
      return result;
    },
  };
}
