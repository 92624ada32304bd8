import type { KernelConfig, KernelFunc, TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import type { AccBackend } from '../backend.js';
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
      if (isProductOfPacked(kernelName, call)) return kernelFunc(call);
      const { isMixed, isShort } = floatsOf(inputs, backend);
      return isMixed || (wantsFloat32 && isShort)
        ? inFloat32(inputs, backend, (wide) => kernelFunc({ ...call, inputs: wide as typeof call.inputs }))
        : kernelFunc(call);
    },
  };
}

function floatsOf(inputs: Inputs, backend: AccBackend): { isMixed: boolean; isShort: boolean } {
  let first: NativeDtype | undefined;
  let isMixed = false;
  let isShort = false;
  for (const name in inputs) {
    const info = (inputs as Record<string, Input>)[name];
    if (info?.dtype !== 'float32') continue;
    const dtype = packedOf(info) ? 'float32' : backend.nativeDtypeOf(info);
    // A stand-in has no native tensor.
    if (dtype === undefined) continue;
    isMixed ||= first !== undefined && dtype !== first;
    isShort ||= dtype !== 'float32';
    first = dtype;
  }
  return { isMixed, isShort };
}

function inFloat32<T>(inputs: Inputs, backend: AccBackend, compute: (inputs: Inputs) => T): T {
  const created: TensorInfo[] = [];
  const widened = (info: Input): Input => {
    if (info && packedOf(info)) return info;
    const dtype = info?.dtype === 'float32' ? backend.nativeOfData(info)?.dtype : undefined;
    if (!info || dtype === undefined || dtype === 'float32') return info;
    const wide = backend.wrap(toDtype(backend.native(info), 'float32'), 'float32');
    created.push(wide);
    return wide;
  };
  try {
    return compute(
      Array.isArray(inputs)
        ? inputs.map(widened)
        : Object.fromEntries(Object.entries(inputs).map(([name, info]) => [name, widened(info)])),
    );
  } finally {
    for (const info of created) backend.disposeInfo(info);
  }
}
