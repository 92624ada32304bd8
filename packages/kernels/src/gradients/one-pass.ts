import {
  ClipByValue,
  engine,
  LeakyRelu,
  Relu,
  Relu6,
  Sigmoid,
  Softmax,
  Softplus,
  Tanh,
  type ClipByValueAttrs,
  type GradConfig,
  type KernelConfig,
  type LeakyReluAttrs,
  type NamedAttrMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { engineInternals } from '@acc/tfjs-internals';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { activeAcc } from '../acc-layer/active-acc.js';
import { elementwiseOperator, type ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { kernel } from '../kernel.js';
import { waiting } from '../pending/defer.js';

// Gradients that libtorch computes in one pass over the tensor; tfjs takes two to six.

/**
 * Computes the gradient from `dy` and from what the forward kernel saved: its input or its result.
 * Caller disposes.
 */
type Compute<Attrs> = (dy: NativeTensor, saved: NativeTensor, attrs: Attrs) => NativeTensor;

interface OnePass {
  /** The forward kernel. */
  readonly of: string;
  readonly input: string;
  /**
   * True saves the forward kernel's result in place of its input, which tfjs saves. The next
   * operator may save the same result.
   */
  readonly savesResult: boolean;
  readonly kernel: KernelConfig;
}

interface OnePassInputs {
  readonly dy: TensorInfo;
  readonly saved: TensorInfo;
}

interface OnePassOptions {
  readonly input?: string;
  readonly savesResult?: boolean;
  /** With it, large gradients on a CPU are computed when they are read. */
  readonly form?: ElementwiseOperator | undefined;
}

function onePass<Attrs = NamedAttrMap>(
  of: string,
  compute: Compute<Attrs>,
  { input = 'x', savesResult = false, form }: OnePassOptions = {},
): OnePass {
  const config = kernel<OnePassInputs, Attrs>(`${of}Grad`, ({ inputs: { dy, saved }, attrs, backend }) => {
    const alone = ([by, from]: readonly TensorInfo[]) =>
      backend.wrap(compute(backend.native(by!), backend.native(from!), attrs), 'float32');
    return (form && waiting(backend, { form, alone }, [dy, saved])) ?? alone([dy, saved]);
  });
  return { of, input, savesResult, kernel: config };
}

const threshold = operator('aten::threshold_backward');
const within = operator('aten::hardtanh_backward');
const leaky = operator('aten::leaky_relu_backward');
const sigmoid = operator('acc::sigmoid_backward');
const softplus = operator('aten::softplus_backward');
const tanh = operator('acc::tanh_backward');
const softmax = operator('aten::_softmax_backward_data');

/**
 * libtorch computes softplus as linear above this value, where its gradient, sigmoid, is 1 in
 * float32.
 */
const SOFTPLUS_LINEAR = 20;

export const ONE_PASS: readonly OnePass[] = [
  // The result is above 0, or NaN, exactly where the input is.
  onePass(Relu, (dy, y) => threshold(dy, y, 0), { savesResult: true }),
  // libtorch passes no gradient at the bounds. tfjs passes it at the upper bound of relu6 and at
  // both bounds of clipByValue, so these bounds move outwards to the next float32.
  onePass(Relu6, (dy, x) => within(dy, x, 0, nextFloat(6, 1))),
  onePass<ClipByValueAttrs>(ClipByValue, (dy, x, { clipValueMin, clipValueMax }) =>
    within(dy, x, nextFloat(clipValueMin, -1), nextFloat(clipValueMax, 1)),
  ),
  onePass<LeakyReluAttrs>(LeakyRelu, (dy, x, { alpha }) => leaky(dy, x, alpha, false)),
  onePass(Softplus, (dy, x) => softplus(dy, x, 1, SOFTPLUS_LINEAR)),
  onePass(Sigmoid, (dy, y) => sigmoid(dy, y), { form: elementwiseOperator('acc::sigmoid_backward') }),
  onePass(Tanh, (dy, y) => tanh(dy, y), { form: elementwiseOperator('acc::tanh_backward') }),
  onePass<{ dim: number }>(Softmax, (dy, y, { dim }) => softmax(dy, y, dim, y.dtype), { input: 'logits' }),
];

/**
 * Returns tfjs's gradient config with another gradient function. tfjs's own function still runs on
 * other backends, for other dtypes, and while a gradient is itself differentiated, which needs
 * operators that have gradients.
 */
export function onePassGradient(gradient: OnePass): (own: GradConfig) => GradConfig {
  const { input, savesResult } = gradient;
  const { kernelName } = gradient.kernel;
  return (own) => ({
    ...own,
    ...(savesResult && { inputsToSave: [], outputsToSave: [true] }),
    gradFunc: (dy, saved, attrs) => {
      const [from] = saved as [Tensor];
      const isOurs = activeAcc() !== undefined && from.dtype === 'float32';
      if (!isOurs || engineInternals().isTapeOn()) return own.gradFunc(dy, saved, attrs);
      return { [input]: () => engine().runKernel(kernelName, { dy: dy as Tensor, saved: from }, attrs) };
    },
  });
}

const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);
const SMALLEST_NORMAL = 0x00800000;

/**
 * The float32 next to `value` in the direction +1 or -1. Next to 0 it is the smallest normal
 * number, because subnormal numbers may be flushed to 0.
 */
function nextFloat(value: number, direction: 1 | -1): number {
  float[0] = value;
  if (!Number.isFinite(float[0])) return float[0];
  if (float[0] === 0) {
    bits[0] = SMALLEST_NORMAL;
    return direction * float[0];
  }
  bits[0]! += float[0] > 0 === direction > 0 ? 1 : -1;
  return float[0];
}
