import {
  dropout as tfDropout,
  engine,
  zerosLike,
  type GradConfig,
  type NamedAttrMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { AccError, checkKeys } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { withoutValues } from '../gradients/saved-shapes.js';
import { kernel } from '../kernel.js';
import { activeSlots } from '../slots.js';
import { isTaped } from '../tape.js';
import { requireFloat } from './check-input.js';

export interface DropoutOptions {
  /** False returns a copy of x unchanged. Default true. */
  readonly training?: boolean;
  /** Seed for tfjs's own generator, as in `tf.dropout`. Default: the backend's generator. */
  readonly seed?: number | string;
}

interface Attrs {
  readonly rate: number;
  readonly within?: DropoutPlace;
}

/**
 * The place of an input in a larger tensor. Seen as `[outer, count, rest]`, the input is the slice
 * `index` of the second dim.
 */
export interface DropoutPlace {
  readonly outer: number;
  readonly count: number;
  readonly index: number;
}

const FORWARD = 'AccDropout';
const BACKWARD = 'AccDropoutGrad';
/** Random numbers have 16 bits: the probability of keeping an element is a multiple of 1/STEPS. */
const STEPS = 2 ** 16;
const PER_WORD = 4;
const LOWEST_WORD = -(2 ** 63);

const empty = operator('aten::empty.memory_format');
const drawWords = operatorInPlace('aten::random_.from');
const viewAs = operator('aten::view.dtype');
const narrow = operator('aten::narrow');
const less = operator('aten::lt.Scalar');
const reshape = operator('aten::reshape');
const multiply = operator('aten::mul.Tensor');
const scale = operatorInPlace('aten::mul_.Scalar');

/**
 * The mask is attached to the result, for the gradient. If the attribute `within` states that `x` is
 * a shard, random numbers are drawn for the larger tensor, so that the shards together get the mask
 * of the whole.
 */
const forward = kernel<{ x: TensorInfo }, Attrs>(FORWARD, ({ inputs: { x }, attrs, backend }) => {
  const mask = drawMask(x.shape, keptSteps(attrs), attrs.within);
  const y = backend.wrap(masked(backend.native(x), mask, attrs), 'float32');
  if (isTaped()) backend.attach(y, [mask]);
  else mask.dispose();
  return y;
});

const backward = kernel<{ dy: TensorInfo; y: TensorInfo }, Attrs>(
  BACKWARD,
  ({ inputs: { dy, y }, attrs, backend }) => {
    const [mask] = backend.attached(y) as [NativeTensor];
    return backend.wrap(masked(backend.native(dy), mask, attrs), 'float32');
  },
);

export const dropoutKernels = [forward, backward];

/** The gradient is linear in dy: it multiplies by the same mask. So does the second derivative. */
export const dropoutGradients: readonly GradConfig[] = [
  withoutValues(
    {
      kernelName: FORWARD,
      outputsToSave: [true],
      gradFunc: (dy, [y], attrs) => ({ x: () => run(BACKWARD, { dy: dy as Tensor, y: y! }, attrs) }),
    },
    'last',
  ),
  {
    kernelName: BACKWARD,
    inputsToSave: ['y'],
    gradFunc: (ddx, [y], attrs) => ({
      dy: () => run(BACKWARD, { dy: ddx as Tensor, y: y! }, attrs),
      y: () => zerosLike(y!),
    }),
  },
];

/**
 * Sets each element to 0 with probability `rate` and divides the others by 1 − `rate`, which
 * preserves the mean (Srivastava et al. 2014). On `acc`, libtorch draws the random numbers:
 * `setSeed` of `@acc/native` seeds them, and probabilities are rounded to multiples of 2⁻¹⁶. On
 * other backends, and with `seed`, `tf.dropout` draws them. Caller disposes.
 *
 * @param x float32 of any shape.
 * @param rate In [0, 1).
 * @throws AccError `ACC_DTYPE_UNSUPPORTED`, `ACC_INVALID_ARGUMENT`, `ACC_UNKNOWN_OPTION`.
 */
export function dropout<T extends Tensor>(x: T, rate: number, options: DropoutOptions = {}): T {
  checkKeys('dropout', options, ['training', 'seed']);
  const { training = true, seed } = options;
  requireFloat('dropout', 'x', x);
  if (!(rate >= 0 && rate < 1)) {
    throw new AccError(
      'ACC_INVALID_ARGUMENT',
      `dropout: rate is ${rate}, which is not a probability below 1.`,
      {
        help: 'Give a number that is at least 0 and less than 1.',
      },
    );
  }
  if (!training || rate === 0) return x.clone();
  const fused = seed === undefined ? activeSlots().functions?.dropout?.(x, rate) : undefined;
  return (fused ?? tfDropout(x, rate, undefined, seed)) as T;
}

/** Runs the kernel. `acc` must be the active backend. */
export function runDropout(x: Tensor, rate: number): Tensor {
  return run(FORWARD, { x }, { rate });
}

function run(name: string, inputs: Record<string, Tensor>, attrs: object): Tensor {
  return engine().runKernel(name, inputs, attrs as NamedAttrMap) as Tensor;
}

/** How many of the {@link STEPS} random values keep an element. */
const keptSteps = ({ rate }: Attrs): number => Math.max(1, Math.round((1 - rate) * STEPS));

/**
 * A boolean mask, true where an element is kept. Each random 64-bit word gives four 16-bit numbers,
 * because drawing words takes most of the time: `aten::bernoulli_` draws one word per element and
 * takes seven times as long. Caller disposes.
 */
function drawMask(shape: readonly number[], kept: number, within?: DropoutPlace): NativeTensor {
  const size = shape.reduce((count, length) => count * length, within?.count ?? 1);
  using words = empty([Math.ceil(size / PER_WORD)], 'int64');
  drawWords(words, LOWEST_WORD, null);
  using drawn = viewAs(words, 'int16');
  using part = narrow(drawn, 0, 0, size);
  using own = within ? pieceOf(part, size, within) : part.alias();
  using isKept = less(own, kept - STEPS / 2);
  return reshape(isKept, shape);
}

/** A view. Caller disposes. */
function pieceOf(numbers: NativeTensor, size: number, { outer, count, index }: DropoutPlace): NativeTensor {
  using shards = reshape(numbers, [outer, count, size / outer / count]);
  return narrow(shards, 1, index, 1);
}

/** `x` times the mask, divided by the probability of keeping an element. Caller disposes. */
function masked(x: NativeTensor, mask: NativeTensor, attrs: Attrs): NativeTensor {
  const y = multiply(x, mask);
  scale(y, STEPS / keptSteps(attrs));
  return y;
}
