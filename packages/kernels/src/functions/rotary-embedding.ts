import {
  add,
  concat,
  cos,
  engine,
  mul,
  outerProduct,
  reshape as reshapeTensor,
  sin,
  split,
  stack,
  sub,
  tensor1d,
  tidy,
  type GradConfig,
  type NamedAttrMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { AccError, checkKeys, type RotarySettings } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';
import { activeSlots } from '../slots.js';
import { requireFloat } from './check-input.js';
import { backTo } from './float32.js';

export interface RotaryOptions {
  /** The longest wavelength is 2π·base. Default 10000. */
  readonly base?: number;
  /** Position of the first row, for example the number of rows already in a cache. Default 0. */
  readonly offset?: number;
  /**
   * True rotates the adjacent columns 2i and 2i + 1 together, as in the paper. Default false:
   * rotates columns i and i + dim/2 together, as GPT-NeoX and Llama weights expect.
   */
  readonly interleaved?: boolean;
}

interface Attrs extends RotarySettings {
  /** Rotates in the opposite direction. This is the inverse and also the gradient. */
  readonly inverse: boolean;
}

const KERNEL = 'AccRotaryEmbedding';

const arange = operator('aten::arange.start_step');
const power = operator('aten::pow.Scalar');
const outer = operator('aten::outer');
const cosine = operator('aten::cos');
const sine = operator('aten::sin');
const toFloat = operator('aten::to.dtype');
const unsqueeze = operator('aten::unsqueeze');
const reshape = operator('aten::reshape');
const select = operator('aten::select.int');
const multiply = operator('aten::mul.Tensor');
const addProduct = operatorInPlace('aten::addcmul_');
const unflatten = operator('aten::unflatten.int');

/**
 * Two passes over memory: the first multiplies everything by cos; the second adds to each half of
 * the pairs the other half times ±sin.
 */
export const rotaryKernel = kernel<{ x: TensorInfo }, Attrs>(KERNEL, ({ inputs, attrs, backend }) => {
  const x = backend.native(inputs.x);
  const { interleaved, inverse } = attrs;
  const half = x.shape.at(-1)! / 2;
  // The dim, counted from the end, that holds the two columns of a pair: they are adjacent or half
  // a row apart.
  const pairDim = interleaved ? -1 : -2;
  using pairs = unflatten(x, -1, interleaved ? [half, 2] : [2, half]);
  const { cos, sin } = anglesOf(x.shape.at(-2)!, half, attrs);
  using heldCos = cos;
  using heldSin = sin;
  using broadcastCos = unsqueeze(heldCos, pairDim);
  using turned = multiply(pairs, broadcastCos);
  using first = select(pairs, pairDim, 0);
  using second = select(pairs, pairDim, 1);
  using turnedFirst = select(turned, pairDim, 0);
  using turnedSecond = select(turned, pairDim, 1);
  const sign = inverse ? -1 : 1;
  addProduct(turnedFirst, second, heldSin, -sign);
  addProduct(turnedSecond, first, heldSin, sign);
  return backend.wrap(backTo(x.dtype, reshape(turned, x.shape)), 'float32');
});

export const rotaryGradient: GradConfig = {
  kernelName: KERNEL,
  gradFunc: (dy, _, attrs) => {
    const given = attrs as unknown as Attrs;
    return { x: () => run(dy as Tensor, { ...given, inverse: !given.inverse }) };
  },
};

/**
 * Rotary position embedding: rotates pairs of columns of each row by the angle position ·
 * base^(−2i/dim) (Su et al. 2021). Apply it to queries and keys before attention. On `acc`, one
 * native kernel, which is its own gradient with the inverse rotation. Caller disposes.
 *
 * @param x float32 `[..., length, dim]` with an even dim, for example `[batch, heads, length,
 * dim]`.
 * @throws AccError `ACC_DTYPE_UNSUPPORTED`, `ACC_SHAPE_MISMATCH`, `ACC_UNKNOWN_OPTION`.
 */
export function rotaryEmbedding<T extends Tensor>(x: T, options: RotaryOptions = {}): T {
  checkKeys('rotaryEmbedding', options, ['base', 'offset', 'interleaved']);
  const { base = 10000, offset = 0, interleaved = false } = options;
  requireFloat('rotaryEmbedding', 'x', x);
  if (x.rank < 2 || x.shape.at(-1)! % 2 !== 0) {
    throw new AccError(
      'ACC_SHAPE_MISMATCH',
      `rotaryEmbedding: x has shape [${x.shape.join(', ')}]; expected [..., length, dim] with an even dim.`,
      {
        help: 'Reshape x, or use an even number of features for each head.',
        details: { shape: x.shape },
      },
    );
  }
  const settings: RotarySettings = { base, offset, interleaved };
  const fused = activeSlots().functions?.rotaryEmbedding?.(x, settings);
  return (fused ?? tidy(() => plain(x, settings))) as T;
}

/** Runs the kernel. `acc` must be the active backend. */
export function runRotary(x: Tensor, { base, offset, interleaved }: RotarySettings): Tensor {
  return run(x, { base, offset, interleaved, inverse: false });
}

function run(x: Tensor, attrs: Attrs): Tensor {
  return engine().runKernel(KERNEL, { x }, attrs as unknown as NamedAttrMap) as Tensor;
}

/**
 * Cosines and sines of the angles, float32 `[length, half]`. The angles are float64, because
 * float32 does not resolve large positions. Caller disposes.
 */
function anglesOf(
  length: number,
  half: number,
  { base, offset }: Attrs,
): Record<'cos' | 'sin', NativeTensor> {
  using steps = arange(0, -half, -1, 'float64');
  using frequencies = power(base ** (1 / half), steps);
  using positions = arange(offset, offset + length, 1, 'float64');
  using angles = outer(positions, frequencies);
  using cos = cosine(angles);
  using sin = sine(angles);
  return { cos: toFloat(cos, 'float32'), sin: toFloat(sin, 'float32') };
}

function plain(x: Tensor, { base, offset, interleaved }: RotarySettings): Tensor {
  const [length, dim] = x.shape.slice(-2) as [number, number];
  const half = dim / 2;
  const positions = Float32Array.from({ length }, (_, i) => offset + i);
  const frequencies = Float32Array.from({ length: half }, (_, i) => base ** (-i / half));
  const angles = outerProduct(tensor1d(positions), tensor1d(frequencies));
  const [c, s] = [cos(angles), sin(angles)];
  const pairs = interleaved
    ? split(reshapeTensor(x, [...x.shape.slice(0, -1), half, 2]), 2, -1).map((part) =>
        reshapeTensor(part, [...x.shape.slice(0, -1), half]),
      )
    : split(x, 2, -1);
  const [a, b] = pairs as [Tensor, Tensor];
  const first = sub(mul(a, c), mul(b, s));
  const second = add(mul(b, c), mul(a, s));
  if (!interleaved) return concat([first, second], -1);
  return reshapeTensor(stack([first, second], -1), x.shape);
}
