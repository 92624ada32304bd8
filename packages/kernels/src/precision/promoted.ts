import type { KernelConfig, KernelFunc, TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import type { AccBackend } from '../backend.js';
import type { MatMulAttrs } from '../families/matmul-inputs.js';
import { toDtype } from '../families/conversion.js';
import { isPackedProduct } from '../packed/packed-product.js';
import { packedOf } from '../packed/packed-tensor.js';

/** Kernels whose libtorch operators need the same float type for all inputs. */
const WANTS_ONE_TYPE: ReadonlySet<string> = new Set([
  ...['BatchMatMul', '_FusedMatMul', 'Einsum', 'Prelu'],
  ...['Conv2D', 'FusedConv2D', 'Conv2DBackpropInput', 'Conv2DBackpropFilter'],
  ...['DepthwiseConv2dNative', 'FusedDepthwiseConv2D'],
  ...['DepthwiseConv2dNativeBackpropInput', 'DepthwiseConv2dNativeBackpropFilter'],
  ...['Conv3D', 'Conv3DBackpropInputV2', 'Conv3DBackpropFilterV2'],
  ...['AccLstm', 'AccLstmGrad', 'AccGru', 'AccGruGrad'],
  'SoftmaxGrad',
]);

/** Kernels whose operators do not support 16-bit floats. */
const WANTS_FLOAT32: ReadonlySet<string> = new Set(['AvgPool3D', 'AvgPool3DGrad']);

type KernelCall = Parameters<KernelFunc>[0];

/** A packed matrix takes the other factor in any dtype. */
const isProductOfPacked = (kernelName: string, { inputs, attrs }: Pick<KernelCall, 'inputs' | 'attrs'>) =>
  (kernelName === 'BatchMatMul' || kernelName === '_FusedMatMul') &&
  isPackedProduct(inputs as object, (attrs ?? {}) as object);

type Input = TensorInfo | null | undefined;
/** Inputs are a record, or a list for some kernels. */
type Inputs = Record<string, Input> | Input[];

/**
 * Wraps a kernel so that it accepts any mix of float types. If its operator does not accept the
 * inputs, 16-bit ones are converted to float32, like libtorch's own promotion in element-wise
 * operators.
 */
export function promoted(config: KernelConfig): KernelConfig {
  const { kernelName, kernelFunc } = config;
  const wantsFloat32 = WANTS_FLOAT32.has(kernelName);
  if (!wantsFloat32 && !WANTS_ONE_TYPE.has(kernelName)) return config;
  return {
    ...config,
    kernelFunc(call) {
      const backend = call.backend as AccBackend;
      const inputs = call.inputs as Inputs;
      if (isProductOfPacked(kernelName, call) || isIn8Bits(call)) return kernelFunc(call);
      const to = commonDtype(inputs, backend, wantsFloat32);
      return to === undefined
        ? kernelFunc(call)
        : inDtype(inputs, { backend, to }, (same) =>
            kernelFunc({ ...call, inputs: same as typeof call.inputs }),
          );
    },
  };
}

/**
 * The dtype that inputs are to be converted to: float32 if they differ, and that of the others for
 * packed ones. Undefined if none is converted.
 */
function commonDtype(inputs: Inputs, backend: AccBackend, wantsFloat32: boolean): NativeDtype | undefined {
  let first: NativeDtype | undefined;
  let isMixed = false;
  let isShort = false;
  let isPacked = false;
  for (const name in inputs) {
    const info = (inputs as Record<string, Input>)[name];
    if (info?.dtype !== 'float32') continue;
    isPacked ||= packedOf(info) !== undefined;
    const dtype = backend.nativeDtypeOf(info);
    // A stand-in has no native tensor, and packed values have every dtype.
    if (dtype === undefined) continue;
    isMixed ||= first !== undefined && dtype !== first;
    isShort ||= dtype !== 'float32';
    first = dtype;
  }
  if (isMixed || (wantsFloat32 && isShort)) return 'float32';
  return isPacked && isShort ? first : undefined;
}

interface Conversion {
  readonly backend: AccBackend;
  readonly to: NativeDtype;
}

function inDtype<T>(inputs: Inputs, { backend, to }: Conversion, compute: (inputs: Inputs) => T): T {
  const created: TensorInfo[] = [];
  const converted = (info: Input): Input => {
    if (info?.dtype !== 'float32') return info;
    const dtype = packedOf(info) ? 'float32' : backend.nativeOfData(info)?.dtype;
    if (dtype === undefined || dtype === to) return info;
    const same = backend.wrap(toDtype(backend.native(info), to), 'float32');
    created.push(same);
    return same;
  };
  try {
    return compute(
      Array.isArray(inputs)
        ? inputs.map(converted)
        : Object.fromEntries(Object.entries(inputs).map(([name, info]) => [name, converted(info)])),
    );
  } finally {
    for (const info of created) backend.disposeInfo(info);
  }
}

/** Whether a product rounds its factors to 8 bits, whichever float types they have. */
const isIn8Bits = ({ attrs }: { readonly attrs?: object | undefined }): boolean =>
  (attrs as Partial<MatMulAttrs> | undefined)?.eightBits !== undefined;
