import type { NativeDtype } from '@acc/contract';
import { operatorWithResults } from '@acc/native';
import { isFloat } from '../../elementwise-operators.js';
import { shortName } from '../../report.js';
import type { Call } from '../../graph.js';
import { isCausalMask } from './causal-mask.js';
import type { Context } from './context.js';
import type { Choice } from './choices.js';
import { factorOf, type Factor } from './factors.js';
import { scoresOf, type Scores } from './scores.js';
import { takersOf, type Taker } from './takers.js';

const hasFastAttention = operatorWithResults('acc::has_fast_attention');

/** This many probabilities take 24 MiB in mixed precision. */
const LARGE_ELEMENTS = 1 << 22;
/** In multiples of the width of a head. */
const FEW_KEYS = 2;

/** `softmax(scale · q·kᵀ + mask) · v` in plain operators. At most one of mask, choice and isCausal is given. */
export interface Forward {
  readonly softmax: Call;
  readonly q: Factor;
  /** The factor kᵀ of the product. */
  readonly turnedK: Factor;
  readonly v: Factor;
  readonly scale: number;
  readonly mask: number | undefined;
  readonly choice: Choice | undefined;
  readonly isCausal: boolean;
  /** The dims before those of matrices. */
  readonly leading: readonly number[];
  /** The product of probabilities and v. */
  readonly product: Call;
  /** The other takers of the probabilities. */
  readonly others: readonly Taker[];
  readonly members: readonly Call[];
}

/** The attention around a softmax. If it is none, the reason; undefined if there are no products. */
export function forwardOf(softmax: Call, context: Context): Forward | string | undefined {
  const scores = scoresOf(softmax.uses[0]!, context);
  const [probabilities] = softmax.results as [number];
  const { takers, between } = takersOf(probabilities, context);
  if (typeof scores === 'string') return takers.some(isProduct) ? scores : undefined;
  const shape = context.shapeOf(probabilities);
  const rank = shape.length;
  if (rank !== 3 && rank !== 4) return `its scores have ${rank} dims`;
  if (softmax.args[1] !== rank - 1 && softmax.args[1] !== -1) return 'its softmax is not over the keys';
  const products = takers.filter((taker) => isProduct(taker) && taker.place === 0 && !taker.isTurned);
  if (products.length !== 1) return withoutProduct(takers);
  const [{ call: product }] = products as [Taker];
  const members = [...scores.members, softmax, ...between, product];
  const others = takers.filter((taker) => taker.call !== product);
  return withFactors(scores, { softmax, product, others, members, leading: shape.slice(0, -2) }, context);
}

export const isProduct = ({ call }: Taker): boolean => call.op === 'aten::bmm';

function withoutProduct(takers: readonly Taker[]): string {
  const names = [...new Set(takers.map(({ call }) => shortName(call.op)))];
  return `its probabilities go to ${names.join(' and ')}, and not to one product with values (dropout, for example)`;
}

function withFactors(
  { product: scoresProduct, scale, mask, choice, isCausal: isChosen, hasZeros }: Scores,
  rest: Pick<Forward, 'softmax' | 'product' | 'others' | 'members' | 'leading'>,
  context: Context,
): Forward | string {
  const { leading, product } = rest;
  const q = factorOf(scoresProduct.uses[0]!, leading, context);
  const turnedK = factorOf(scoresProduct.uses[1]!, leading, context);
  const v = factorOf(product.uses[1]!, leading, context);
  if (!q || !turnedK || !v) return 'its q, k or v has other dims than its scores';
  const problem = problemOf([q.value, turnedK.value, v.value], mask, context);
  if (problem) return problem;
  const hiding = mask ?? choice?.value;
  const ofScores = context.shapeOf(rest.softmax.results[0]!);
  if (hiding !== undefined && !isBroadcastTo(ofScores, context.shapeOf(hiding))) {
    return 'its mask has other dims than its softmax';
  }
  if (isFasterInProducts(rest.softmax, q, context)) {
    return 'its products are faster on this CPU, and its probabilities are small';
  }
  const [queries, width] = sizesOf(q, context);
  const [keys, valueWidth] = sizesOf(v, context);
  if (width !== valueWidth) return 'its v has another width than q';
  if ([queries, keys, width, ...leading].includes(0)) return 'it has no elements';
  const numbers = mask === undefined ? undefined : context.elementsOf(mask);
  const isCausal =
    isChosen || (numbers !== undefined && isCausalMask(numbers, context.shapeOf(mask!), ofScores));
  if (hasZeros && !isCausal) return 'its scores are multiplied by a mask, and none is added';
  return { ...rest, q, turnedK, v, scale, mask: isCausal ? undefined : mask, choice, isCausal };
}

/**
 * Whether an attention is kept for its time: without matrix units or AVX-512, or with a width that the
 * kernels for these do not take. Libtorch's flash attention takes about 1.6 times as long as the products
 * in bfloat16, and in float32 1.2 to 1.5 times with at most twice as many keys as the width of a head. It
 * pays where memory matters more.
 */
function isFasterInProducts({ results }: Call, q: Factor, context: Context): boolean {
  const { values, elements } = context.graph;
  const { dtype } = values[q.value]!;
  const probabilities = elements[results[0]!]!;
  if (probabilities >= LARGE_ELEMENTS) return false;
  const [isFast] = hasFastAttention(dtype, sizesOf(q, context)[1]);
  return !isFast && (dtype !== 'float32' || probabilities <= FEW_KEYS * elements[q.value]!);
}

function problemOf(qkv: readonly number[], mask: number | undefined, { graph }: Context): string | undefined {
  const dtypes = qkv.map((value) => graph.values[value]!.dtype);
  const [dtype] = dtypes as [NativeDtype];
  if (!isFloat(dtype) || dtypes.some((each) => each !== dtype))
    return `its q, k and v are ${dtypes.join(', ')}`;
  if (mask === undefined) return undefined;
  const maskDtype = graph.values[mask]!.dtype;
  return maskDtype === 'float32' || maskDtype === dtype ? undefined : `its mask is ${maskDtype}`;
}

/** Whether a tensor of `shape` can be broadcast to another one. */
function isBroadcastTo(full: readonly number[], shape: readonly number[]): boolean {
  const first = full.length - shape.length;
  return first >= 0 && shape.every((size, dim) => size === 1 || size === full[first + dim]);
}

/** The sizes of the matrices that a product takes: rows, columns. */
function sizesOf({ value, isTurned }: Factor, { shapeOf }: Context): readonly [number, number] {
  const [rows, columns] = shapeOf(value).slice(-2) as [number, number];
  return isTurned ? [columns, rows] : [rows, columns];
}
