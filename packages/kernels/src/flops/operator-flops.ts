import { Tensor, type OperatorArgument } from '@acc/native';

/**
 * Floating-point operations of one or several operator calls. A multiplication and an addition count as
 * two. As usual for models, only products count: matrix products, convolutions, attention and recurrent
 * layers. Elementwise operators, norms and sums, also those by a dot product, are limited by memory, and
 * are left out.
 */
export interface Flops {
  /** All operations that the device was asked for. */
  readonly hardware: number;
  /**
   * The operations that training needs: {@link hardware} without those that backward repeats, which
   * are activation checkpoints, and the scores of attention.
   */
  readonly model: number;
  /**
   * The part of {@link model} for positions that causal attention hides. They count, as in the usual
   * formula of 12 × layers × width × length for each token, although kernels skip them.
   */
  readonly hidden: number;
}

export const NO_FLOPS: Flops = { hardware: 0, model: 0, hidden: 0 };

type Shape = readonly number[];
type Arguments = readonly OperatorArgument[];

/** The operations of one call. Undefined for operators without products. */
export function operatorFlops(name: string, args: Arguments): Flops | undefined {
  const short = name.slice(name.indexOf(':') + 2);
  const product = PRODUCTS[short];
  if (product) return all(product(args));
  return ATTENTION[short]?.(args);
}

const all = (flops: number): Flops => ({ hardware: flops, model: flops, hidden: 0 });

const shapeOf = (arg: OperatorArgument | undefined): Shape => (arg instanceof Tensor ? arg.shape : []);
const sizeOf = (shape: Shape): number => shape.reduce((size, dim) => size * dim, 1);

/** Of `[…, m, k] × […, k, n]`. Batch dims are broadcast. A vector is one row or one column. */
function ofMatrices(a: Shape, b: Shape, transposeA = false, transposeB = false): number {
  if (a.length === 0 || b.length === 0) return 0;
  const [k, m] = a.length === 1 ? [a[0]!, 1] : transposeA ? lastTwo(a) : lastTwo(a).toReversed();
  const n = b.length === 1 ? 1 : lastTwo(b)[transposeB ? 0 : 1]!;
  return 2 * broadcastSize(a.slice(0, -2), b.slice(0, -2)) * m! * k! * n;
}

const lastTwo = (shape: Shape): number[] => shape.slice(-2);

function broadcastSize(a: Shape, b: Shape): number {
  const rank = Math.max(a.length, b.length);
  const dims = Array.from({ length: rank }, (_, i) => Math.max(a.at(i - rank) ?? 1, b.at(i - rank) ?? 1));
  return sizeOf(dims);
}

/** @param pixels A shape whose sizes after the first two are the places of the window. */
function ofWindows(pixels: Shape, weight: Shape): number {
  return 2 * pixels[0]! * sizeOf(pixels.slice(2)) * sizeOf(weight);
}

/** The sizes of the result of a convolution. */
function convolvedSizes(x: Shape, weight: Shape, settings: Record<'stride' | 'padding' | 'dilation', Shape>) {
  const { stride, padding, dilation } = settings;
  const sizes = x.slice(2).map((size, i) => {
    const at = (of: Shape) => of[i] ?? of[0]!;
    return Math.floor((size + 2 * at(padding) - at(dilation) * (weight[i + 2]! - 1) - 1) / at(stride)) + 1;
  });
  return [x[0]!, 0, ...sizes];
}

/** `(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)` */
function ofConvolution(args: Arguments): number {
  const [x, weight] = [shapeOf(args[0]), shapeOf(args[1])];
  const [stride, padding, dilation] = args.slice(3, 6) as Shape[];
  // Each element of the input of a transposed convolution is a place of the window.
  if (args[6] === true) return ofWindows(x, weight);
  const settings = { stride: stride!, padding: padding!, dilation: dilation! };
  return ofWindows(convolvedSizes(x, weight, settings), weight);
}

/** `(images, weight, bias, padding, transposed)`, with strides of one. */
function ofWinograd(args: Arguments): number {
  const [x, weight] = [shapeOf(args[0]), shapeOf(args[1])];
  if (args[4] === true) return ofWindows(x, weight);
  const settings = { stride: [1], padding: args[3] as Shape, dilation: [1] };
  return ofWindows(convolvedSizes(x, weight, settings), weight);
}

/** `(grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, output_mask)` */
function ofConvolutionBackward(args: Arguments): number {
  const pixels = shapeOf(args[7] === true ? args[1] : args[0]);
  const gradients = (args[10] as readonly boolean[]).slice(0, 2).filter(Boolean).length;
  return gradients * ofWindows(pixels, shapeOf(args[2]));
}

/** Of the product of the state in each step: `gates` are [steps, batch, columns], `recurrent` [width, columns]. */
const ofSteps = (gates: Shape, recurrent: Shape): number => 2 * gates[0]! * gates[1]! * sizeOf(recurrent);

/** Of an equation of two factors. One that sums over one factor alone is an upper bound, as elsewhere. */
function ofEinsum([equation, tensors]: Arguments): number {
  const given = tensors as readonly Tensor[];
  if (given.length !== 2) return 0;
  const sizes = new Map<string, number>();
  const terms = String(equation).split('->')[0]!.split(',');
  for (const [i, term] of terms.entries())
    for (const [dim, label] of [...term.trim()].entries()) sizes.set(label, given[i]!.shape[dim]!);
  return 2 * sizeOf([...sizes.values()]);
}

/** The operations of products by the short name of the operator, without its namespace. */
const PRODUCTS: Readonly<Record<string, (args: Arguments) => number>> = {
  mm: ([a, b]) => ofMatrices(shapeOf(a), shapeOf(b)),
  bmm: ([a, b]) => ofMatrices(shapeOf(a), shapeOf(b)),
  _int_mm: ([a, b]) => ofMatrices(shapeOf(a), shapeOf(b)),
  // Packed weights have a row for each column of the product.
  _weight_int8pack_mm: ([x, weight]) => ofMatrices(shapeOf(x), shapeOf(weight), false, true),
  _weight_int4pack_mm_for_cpu: ([x, weight]) => ofMatrices(shapeOf(x), shapeOf(weight), false, true),
  _scaled_mm: ([a, b]) => ofMatrices(shapeOf(a), shapeOf(b)),
  matmul: ([a, b, , ...turned]) => ofMatrices(shapeOf(a), shapeOf(b), turned[0] === true, turned[1] === true),
  int8_matmul: ([a, b, , ...turned]) =>
    ofMatrices(shapeOf(a), shapeOf(b), turned[0] === true, turned[1] === true),
  addmm: ([, a, b, ...turned]) => ofMatrices(shapeOf(a), shapeOf(b), turned[0] === true, turned[1] === true),
  addmm_: ([, a, b, ...turned]) => ofMatrices(shapeOf(a), shapeOf(b), turned[0] === true, turned[1] === true),
  // oneDNN's product of a layer, whose weight is [n, k].
  _linear_pointwise: ([x, weight]) => ofMatrices(shapeOf(x), shapeOf(weight), false, true),
  baddbmm: ([, a, b]) => ofMatrices(shapeOf(a), shapeOf(b)),
  einsum: ofEinsum,
  convolution: ofConvolution,
  convolution_backward: ofConvolutionBackward,
  convolution_weight_gradient: ([dy, , weight]) => ofWindows(shapeOf(dy), shapeOf(weight)),
  winograd_convolution: ofWinograd,
  winograd_convolution_weight_gradient: ([dy, images, window]) =>
    ofWindows(shapeOf(dy), [shapeOf(dy)[1]!, shapeOf(images)[1]!, ...(window as Shape)]),
  lstm: ([gates, recurrent]) => ofSteps(shapeOf(gates), shapeOf(recurrent)),
  lstm_backward: ([, , , gates, , recurrent]) => ofSteps(shapeOf(gates), shapeOf(recurrent)),
  gru: ([gates, recurrent]) => ofSteps(shapeOf(gates), shapeOf(recurrent)),
  gru_backward: ([, , gates, , recurrent]) => ofSteps(shapeOf(gates), shapeOf(recurrent)),
};

/** q, k and v are [batch, heads, length, width]. k and v may have fewer heads. */
function ofScores(args: Arguments, isCausal: boolean): { flops: number; hidden: number } {
  const [q, k, v] = args.slice(0, 3).map(shapeOf);
  const [rows, columns] = [q![2]!, k![2]!];
  const flops = 2 * q![0]! * q![1]! * rows * columns * (q![3]! + v![3]!);
  if (!isCausal) return { flops, hidden: 0 };
  // Row i sees the columns up to i.
  const seen = Array.from({ length: rows }, (_, i) => Math.min(i + 1, columns)).reduce((a, b) => a + b, 0);
  return { flops, hidden: flops * (1 - seen / (rows * columns)) };
}

/** The two products of attention: scores, and their product with v. */
const forward =
  (causalAt: number) =>
  (args: Arguments): Flops => {
    const { flops, hidden } = ofScores(args, args[causalAt] === true);
    return { hardware: flops, model: flops, hidden };
  };

/** Four products for three gradients. The kernel computes the scores again, which is a fifth. */
const backward =
  (causalAt: number) =>
  (args: Arguments): Flops => {
    const { flops, hidden } = ofScores(args.slice(1), args[causalAt] === true);
    return { hardware: 2.5 * flops, model: 2 * flops, hidden: 2 * hidden };
  };

const ATTENTION: Readonly<Record<string, (args: Arguments) => Flops>> = {
  attention: forward(3),
  attention_backward: backward(6),
  attention_where: forward(-1),
  attention_where_backward: backward(-1),
  _scaled_dot_product_flash_attention: forward(4),
  _scaled_dot_product_flash_attention_backward: backward(11),
  _scaled_dot_product_efficient_attention: forward(6),
  _scaled_dot_product_efficient_attention_backward: backward(11),
};
