import {
  div,
  engine,
  mul as tfMul,
  neg,
  util,
  type GradConfig,
  type KernelConfig,
  type NamedAttrMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';

export const SoftmaxCrossEntropy = 'SoftmaxCrossEntropy';
export const SigmoidCrossEntropy = 'SigmoidCrossEntropy';

/** Both have shape `[..., classes]`. Labels may have any real dtype. */
interface Inputs {
  readonly labels: TensorInfo;
  readonly logits: TensorInfo;
}

export interface CrossEntropyAttrs {
  /**
   * True: the mean over all samples (for sigmoid, over all classes of all samples). False: one loss
   * for each sample (for sigmoid, for each class).
   */
  readonly isMean: boolean;
}

interface SoftmaxGradInputs {
  readonly dy: TensorInfo;
  readonly labels: TensorInfo;
  readonly loss: TensorInfo;
}

interface SigmoidGradInputs extends Inputs {
  readonly dy: TensorInfo;
}

const castTo = operator('aten::_to_copy');
const dot = operator('aten::dot');
const divide = operatorInPlace('aten::div_.Scalar');
const divided = operator('aten::div.Scalar');
const exp = operator('aten::exp');
const logSoftmax = operator('aten::_log_softmax');
const mul = operator('aten::mul.Tensor');
const multiply = operatorInPlace('aten::mul_.Tensor');
const negate = operatorInPlace('aten::neg_');
const reshape = operator('aten::reshape');
const sigmoid = operator('aten::sigmoid');
const subtract = operatorInPlace('aten::sub_.Tensor');
const sum = operator('aten::sum.dim_IntList');
const unsqueeze = operator('aten::unsqueeze');
const binaryCrossEntropy = operator('aten::binary_cross_entropy_with_logits');

/** libtorch's constants for the reduction of a loss. */
const REDUCTION = { none: 0, mean: 1 } as const;

/** Converts `native` to the dtype of `like`. Caller disposes. */
function floating(native: NativeTensor, like: NativeTensor): NativeTensor {
  return native.dtype === like.dtype ? native.alias() : castTo(native, like.dtype);
}

/** The number of samples in logits of this shape. */
const samples = (shape: readonly number[]): number => util.sizeFromShape(shape.slice(0, -1));

/** The log probabilities are attached to the result, for the gradient. */
const softmaxCrossEntropy = kernel<Inputs, CrossEntropyAttrs>(
  SoftmaxCrossEntropy,
  ({ inputs: { labels, logits }, attrs: { isMean }, backend }) => {
    const dim = logits.shape.length - 1;
    const logProbabilities = logSoftmax(backend.native(logits), dim, false);
    using targets = floating(backend.native(labels), logProbabilities);
    const losses = isMean
      ? sumOfProducts(targets, logProbabilities)
      : sumsOfProducts(targets, logProbabilities, dim);
    if (isMean) divide(losses, -samples(logits.shape));
    else negate(losses);
    const result = backend.wrap(losses, 'float32');
    backend.attach(result, [logProbabilities]);
    return result;
  },
);

function sumOfProducts(a: NativeTensor, b: NativeTensor): NativeTensor {
  using flatA = reshape(a, [-1]);
  using flatB = reshape(b, [-1]);
  return dot(flatA, flatB);
}

function sumsOfProducts(a: NativeTensor, b: NativeTensor, dim: number): NativeTensor {
  using products = mul(a, b);
  return sum(products, [dim], false);
}

/**
 * `dy` times `softmax(logits) − labels`. As in tfjs, this is correct if the labels of each sample
 * add up to 1.
 */
const softmaxCrossEntropyGrad = kernel<SoftmaxGradInputs, CrossEntropyAttrs>(
  `${SoftmaxCrossEntropy}Grad`,
  ({ inputs: { dy, labels, loss }, attrs: { isMean }, backend }) => {
    const logProbabilities = backend.attached(loss)[0]!;
    using targets = floating(backend.native(labels), logProbabilities);
    const grad = exp(logProbabilities);
    subtract(grad, targets);
    const native = backend.native(dy);
    using scale = isMean ? divided(native, samples(labels.shape)) : unsqueeze(native, -1);
    multiply(grad, scale);
    return backend.wrap(grad, 'float32');
  },
);

const sigmoidCrossEntropy = kernel<Inputs, CrossEntropyAttrs>(
  SigmoidCrossEntropy,
  ({ inputs: { labels, logits }, attrs: { isMean }, backend }) => {
    const native = backend.native(logits);
    using targets = floating(backend.native(labels), native);
    const reduction = isMean ? REDUCTION.mean : REDUCTION.none;
    return backend.wrap(binaryCrossEntropy(native, targets, null, null, reduction), 'float32');
  },
);

/** `dy` times `sigmoid(logits) − labels`. */
const sigmoidCrossEntropyGrad = kernel<SigmoidGradInputs, CrossEntropyAttrs>(
  `${SigmoidCrossEntropy}Grad`,
  ({ inputs: { dy, labels, logits }, attrs: { isMean }, backend }) => {
    const grad = sigmoid(backend.native(logits));
    using targets = floating(backend.native(labels), grad);
    subtract(grad, targets);
    const native = backend.native(dy);
    using scale = isMean ? divided(native, util.sizeFromShape(logits.shape)) : native.alias();
    multiply(grad, scale);
    return backend.wrap(grad, 'float32');
  },
);

export const CROSS_ENTROPY_KERNELS: readonly KernelConfig[] = [
  softmaxCrossEntropy,
  softmaxCrossEntropyGrad,
  sigmoidCrossEntropy,
  sigmoidCrossEntropyGrad,
];

const softmaxGradient: GradConfig = {
  kernelName: SoftmaxCrossEntropy,
  inputsToSave: ['labels'],
  outputsToSave: [true],
  gradFunc: (dy, saved, attrs) => {
    const [labels, loss] = saved as [Tensor, Tensor];
    const inputs = { dy: dy as Tensor, labels, loss };
    const logits = (): Tensor => engine().runKernel(`${SoftmaxCrossEntropy}Grad`, inputs, attrs);
    // The gradient of the labels is the same as in tfjs.
    return { logits, labels: () => neg(logits()) };
  },
};

const sigmoidGradient: GradConfig = {
  kernelName: SigmoidCrossEntropy,
  inputsToSave: ['labels', 'logits'],
  gradFunc: (dy, saved, attrs: NamedAttrMap) => {
    const [labels, logits] = saved as [Tensor, Tensor];
    const inputs = { dy: dy as Tensor, labels, logits };
    const count = (attrs as unknown as CrossEntropyAttrs).isMean ? logits.size : 1;
    return {
      logits: () => engine().runKernel(`${SigmoidCrossEntropy}Grad`, inputs, attrs),
      labels: () => tfMul(neg(logits), div(dy as Tensor, count)),
    };
  },
};

export const CROSS_ENTROPY_GRADIENTS: readonly GradConfig[] = [softmaxGradient, sigmoidGradient];
