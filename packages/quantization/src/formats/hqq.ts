import { operator, type Tensor } from '@acc/native';
import { abs, addcmul, cast, mul, mulScalar, sub } from './operators.js';
import { inShort, MIDDLE, numbersIn, ownedGroups, type Int4Groups } from './int4-groups.js';

const mean = operator('aten::mean.dim');
const meanOfAll = operator('aten::mean');
const subScalar = operator('aten::sub.Scalar');
const power = operator('aten::pow.Tensor_Scalar');
const relu = operator('aten::relu');
const sign = operator('aten::sign');
const addScalar = operator('aten::add.Scalar');

// The parameters of Half-Quadratic Quantization (Badri and Shaji 2023), as its authors have them.
const NORM = 0.7;
const FIRST_BETA = 10;
const BETA_GROWTH = 1.01;
const MOST_STEPS = 20;
/** Added to magnitudes before a negative power. */
const EPSILON = 1e-8;

/**
 * Moves the zeros of groups so that the errors of most values become small, at the cost of few large
 * ones: minimizes the sum of |error|^0.7 by half-quadratic steps. Ends when the mean magnitude of the
 * errors does not fall any more.
 */
export function improvedGroups(grouped: Tensor, { scales, zeros }: Int4Groups): Int4Groups & Disposable {
  let best = zeros.alias();
  let bestError = Infinity;
  let current = zeros.alias();
  for (let step = 0, beta = FIRST_BETA; step < MOST_STEPS; step++, beta *= BETA_GROWTH) {
    using used = current;
    const groups = { scales, zeros: used };
    using centered = centeredNumbers(grouped, groups);
    using values = addcmul(used, centered, scales);
    using errors = sub(grouped, values);
    const error = meanMagnitude(errors);
    if (error >= bestError) {
      current = used.alias();
      break;
    }
    best.dispose();
    best = used.alias();
    bestError = error;
    current = nextZeros(grouped, { errors, centered, scales }, beta);
  }
  current.dispose();
  return ownedGroups(scales.alias(), best);
}

/** q - 8 as float32. */
function centeredNumbers(grouped: Tensor, groups: Int4Groups): Tensor {
  using numbers = numbersIn(grouped, groups);
  using wide = cast(numbers, 'float32');
  return subScalar(wide, MIDDLE);
}

function meanMagnitude(errors: Tensor): number {
  using magnitudes = abs(errors);
  using average = meanOfAll(magnitudes);
  return (average.read() as Float32Array)[0]!;
}

interface Step {
  readonly errors: Tensor;
  readonly centered: Tensor;
  readonly scales: Tensor;
}

/** The zeros for which what remains of the values, without their large errors, is met on average. */
function nextZeros(grouped: Tensor, { errors, centered, scales }: Step, beta: number): Tensor {
  using large = shrunk(errors, beta);
  using rest = sub(grouped, large);
  using scaled = mul(centered, scales);
  using differences = sub(rest, scaled);
  using zeros = mean(differences, [2], true);
  return inShort(zeros);
}

/** sign(e) · max(0, |e| - |e|^(p - 1) / beta). */
function shrunk(errors: Tensor, beta: number): Tensor {
  using magnitudes = abs(errors);
  using atLeast = addScalar(magnitudes, EPSILON);
  using powers = power(atLeast, NORM - 1);
  using limit = mulScalar(powers, 1 / beta);
  using over = sub(magnitudes, limit);
  using kept = relu(over);
  using signs = sign(errors);
  return mul(signs, kept);
}
