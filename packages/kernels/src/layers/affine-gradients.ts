import {
  _FusedMatMul,
  Conv2DBackpropFilter,
  Conv2DBackpropInput,
  engine,
  FusedConv2D,
  matMul,
  Relu,
  sum,
  type FusedConv2DAttrs,
  type GradConfig,
  type NamedAttrMap,
  type NamedTensorMap,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { requireFirstOrder } from '../tape.js';

// tfjs runs its fused kernels (product or convolution with bias and activation) in prediction only.
// In training it runs three operators and keeps the intermediate results. With gradients registered
// for the fused kernels, layers use them in training too.

export interface AffineAttrs {
  readonly activation: 'linear' | 'relu';
}

type Gradients<Attrs> = (dy: Tensor, x: Tensor, weight: Tensor, attrs: Attrs) => Record<string, () => Tensor>;

/**
 * `gradientsOf` receives the gradient before the activation. Each gradient is computed only on
 * demand.
 */
function affineGradient<Attrs extends AffineAttrs>(
  kernelName: string,
  inputsToSave: string[],
  gradientsOf: Gradients<Attrs>,
): GradConfig {
  const gradFunc = (dy: Tensor, [x, weight, y]: readonly [Tensor, Tensor, Tensor], attrs: Attrs) => {
    requireFirstOrder(kernelName);
    // The result of relu is above 0 exactly where its input is, so the result suffices. This
    // gradient is computed at once, because the gradients of all inputs need it.
    const before = attrs.activation === 'relu' ? run(`${Relu}Grad`, { dy, saved: y }, {}) : dy;
    const gradients = gradientsOf(before, x, weight, attrs);
    // V8 copies an object of closures slowly, so the record is completed in place.
    gradients.bias = () =>
      sum(
        before,
        before.shape.slice(0, -1).map((_, dim) => dim),
      );
    return gradients;
  };
  return {
    kernelName,
    inputsToSave,
    outputsToSave: [true],
    gradFunc: gradFunc as unknown as GradConfig['gradFunc'],
  };
}

export const AFFINE_GRADIENTS: readonly GradConfig[] = [
  affineGradient(_FusedMatMul, ['a', 'b'], (dy, a, b) => ({
    a: () => matMul(dy, b, false, true),
    b: () => matMul(a, dy, true),
  })),
  affineGradient<AffineAttrs & FusedConv2DAttrs>(FusedConv2D, ['x', 'filter'], (dy, x, filter, attrs) => {
    const { strides, pad, dataFormat, dimRoundingMode } = attrs;
    const geometry = { strides, pad, dataFormat, dimRoundingMode, dilations: attrs.dilations };
    return {
      x: () => run(Conv2DBackpropInput, { dy, filter }, { ...geometry, inputShape: x.shape }),
      filter: () => run(Conv2DBackpropFilter, { x, dy }, { ...geometry, filterShape: filter.shape }),
    };
  }),
];

function run(kernelName: string, inputs: Record<string, Tensor>, attrs: object): Tensor {
  return engine().runKernel(kernelName, inputs as NamedTensorMap, attrs as NamedAttrMap) as Tensor;
}
