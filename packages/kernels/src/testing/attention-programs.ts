import * as tf from '@tensorflow/tfjs-core';
import { array, boolean, constant, constantFrom, record, subarray, type Arbitrary } from 'fast-check';

// Random programs that resemble attention, in plain operators, for tests.

const CHAINS = {
  none: (x: tf.Tensor) => x,
  affine: (x: tf.Tensor) => tf.add(tf.mul(x, 0.7), 0.1),
  tanh: (x: tf.Tensor) => tf.tanh(x),
  residual: (x: tf.Tensor) => tf.add(x, tf.mul(tf.sin(x), 0.3)),
};
type Chain = keyof typeof CHAINS;
type Other = 'q' | 'k' | 'v' | 'scores' | 'probabilities';
type Wanted = 'q' | 'k' | 'v' | 'mask';

interface Mask {
  readonly form: 'added' | 'added on the left' | 'subtracted' | 'chosen' | 'chosen where not';
  readonly content: 'causal' | 'window' | 'random';
  readonly hidden: number;
  readonly source: 'step' | 'captured' | 'partly captured' | 'argument';
  readonly dims: 'queries and keys' | 'ones' | 'heads' | 'keys' | 'all';
  /** Whether the last query sees no key, if the mask has a row for it. */
  readonly isLastBlind: boolean;
}

export interface Program {
  /** That of scores. */
  readonly rank: number;
  readonly heads: number;
  readonly queries: number;
  readonly keys: number;
  readonly width: number;
  readonly dtype: 'float32' | 'bfloat16';
  /** How q, k and v lie in arguments: as heads, behind a permutation, or side by side. */
  readonly layout: 'heads' | 'permuted' | 'merged';
  readonly isTransposed: boolean;
  readonly scale: 'none' | 'of q' | 'product' | 'quotient' | 'captured' | 'argument' | 'twice';
  readonly mask: Mask | undefined;
  readonly softmax: 'softmax' | 'exponentials' | 'logarithms';
  readonly hasDropout: boolean;
  /** Values that other operators take, too. */
  readonly others: readonly Other[];
  readonly before: Chain;
  readonly after: Chain;
  readonly isMergedAfter: boolean;
  readonly gradients: readonly Wanted[];
}

/** The first choice of most programs, so that a good share of them is attention. */
const mostly = <T>(first: T, ...others: readonly T[]): Arbitrary<T> =>
  constantFrom(...Array<T>(2 + 4 * others.length).fill(first), ...others);

const masks: Arbitrary<Mask> = record({
  form: constantFrom('added', 'added on the left', 'subtracted', 'chosen', 'chosen where not'),
  content: mostly('causal', 'window', 'random'),
  hidden: mostly(-1e9, -3),
  source: constantFrom('step', 'captured', 'partly captured', 'argument'),
  dims: mostly('queries and keys', 'ones', 'heads', 'keys', 'all'),
  isLastBlind: mostly(false, true),
});

const chains = constantFrom(...(Object.keys(CHAINS) as Chain[]));

export const programs: Arbitrary<Program> = record({
  rank: mostly(4, 3, 2),
  heads: constantFrom(1, 3),
  // As many as heads, more than twice the width, and others.
  queries: mostly(40, 3, 17),
  keys: mostly(40, 3, 17),
  width: constantFrom(4, 8, 16),
  dtype: mostly('float32', 'bfloat16'),
  layout: constantFrom('heads', 'permuted', 'merged'),
  isTransposed: boolean(),
  scale: constantFrom('none', 'of q', 'product', 'quotient', 'captured', 'argument', 'twice'),
  mask: mostly(true, false).chain((isMasked) => (isMasked ? masks : constant(undefined))),
  softmax: mostly('softmax', 'exponentials', 'logarithms'),
  hasDropout: mostly(false, true),
  others: array(constantFrom('q', 'k', 'v', 'scores', 'probabilities'), { maxLength: 2 }).chain((others) =>
    mostly<Other[]>([], others as Other[]),
  ),
  before: chains,
  after: chains,
  isMergedAfter: boolean(),
  gradients: mostly<Wanted[]>(['q', 'k', 'v'], ['mask', 'q']).chain((names) =>
    mostly(true, false).chain((isAll) => (isAll ? constantFrom(names) : subarray(names))),
  ),
}) as Arbitrary<Program>;

const BATCH = 2;

/** The dims before those of matrices. */
const leadingOf = ({ rank, heads }: Program): number[] =>
  rank === 4 ? [BATCH, heads] : rank === 3 ? [heads] : [];

/** Of q, k and v, and of what the product of probabilities and v gives. */
function shapeOf(program: Program, length: number, layout = program.layout): number[] {
  const { rank, heads, width } = program;
  if (layout === 'heads' || rank === 2) return [...leadingOf(program), length, width];
  const batch = rank === 4 ? [BATCH] : [];
  return layout === 'permuted' ? [...batch, length, heads, width] : [...batch, length, heads * width];
}

const permutationOf = ({ rank }: Program): number[] => (rank === 4 ? [0, 2, 1, 3] : [1, 0, 2]);

function asHeads(x: tf.Tensor, program: Program, length: number): tf.Tensor {
  if (program.layout === 'heads' || program.rank === 2) return x;
  return tf.transpose(tf.reshape(x, shapeOf(program, length, 'permuted')), permutationOf(program));
}

const isMerged = ({ isMergedAfter, rank }: Program): boolean => isMergedAfter && rank !== 2;

function asResult(x: tf.Tensor, program: Program): tf.Tensor {
  if (!isMerged(program)) return x;
  return tf.reshape(tf.transpose(x, permutationOf(program)), shapeOf(program, program.queries, 'merged'));
}

function maskShape(program: Program, { dims }: Mask): number[] {
  const { queries, keys } = program;
  const leading = leadingOf(program);
  const shapes: Record<Mask['dims'], number[]> = {
    'queries and keys': [queries, keys],
    ones: [...leading.map(() => 1), queries, keys],
    heads: [...leading.slice(-1), queries, keys],
    keys: [...leading.map((size, i) => (i === 0 ? size : 1)), 1, keys],
    all: [...leading, queries, keys],
  };
  return shapes[dims];
}

/** 1 where a query sees a key, else 0. Each query sees the first key, but for a blind one. */
function seenOf(program: Program, mask: Mask, seed: number): tf.Tensor {
  const shape = maskShape(program, mask);
  const [queries, keys] = shape.slice(-2) as [number, number];
  const offsets = tf.sub(tf.range(0, keys), tf.expandDims(tf.range(0, queries), 1));
  const seen = {
    causal: () => tf.lessEqual(offsets, 0),
    window: () => tf.lessEqual(tf.abs(offsets), 2),
    random: () => tf.less(tf.randomUniform(shape, 0, 1, 'float32', seed), 0.7),
  }[mask.content]();
  const all = tf.maximum(
    tf.add(tf.cast(seen, 'float32'), tf.zeros(shape)),
    tf.cast(tf.equal(tf.range(0, keys), 0), 'float32'),
  );
  if (!mask.isLastBlind || queries === 1) return all;
  return tf.mul(all, tf.cast(tf.less(tf.expandDims(tf.range(0, queries), 1), queries - 1), 'float32'));
}

/** The mask that scores take. */
function finished(seen: tf.Tensor, { form, hidden }: Mask): tf.Tensor {
  if (form === 'chosen') return tf.cast(seen, 'bool');
  if (form === 'chosen where not') return tf.equal(seen, 0);
  const added = tf.mul(tf.sub(seen, 1), -hidden);
  return form === 'subtracted' ? tf.neg(added) : added;
}

function masked(scores: tf.Tensor, mask: tf.Tensor, { form, hidden }: Mask): tf.Tensor {
  switch (form) {
    case 'added':
      return tf.add(scores, mask);
    case 'added on the left':
      return tf.add(mask, scores);
    case 'subtracted':
      return tf.sub(scores, mask);
    case 'chosen':
      return tf.where(mask, scores, tf.scalar(hidden));
    case 'chosen where not':
      return tf.where(mask, tf.scalar(hidden), scores);
  }
}

const SCALE = 0.3;

/** The tensors that a program takes from outside. The caller disposes them. */
export interface Captured {
  readonly scale: tf.Tensor;
  readonly mask: tf.Tensor;
}

export function capturedOf(program: Program): Captured {
  const { mask } = program;
  const seen = mask ? seenOf(program, mask, 7) : tf.scalar(0);
  return { scale: tf.scalar(SCALE), mask: mask?.source === 'captured' ? finished(seen, mask) : seen };
}

/** The arguments of a program: q, k, v, the gradient of the result, a scale and a mask. */
export function argumentsOf(program: Program, seed: number): tf.Tensor[] {
  const { queries, keys, mask } = program;
  const shapes = [
    shapeOf(program, queries),
    shapeOf(program, keys),
    shapeOf(program, keys),
    shapeOf(program, queries, isMerged(program) ? 'merged' : 'heads'),
  ];
  const random = shapes.map((shape, i) => tf.randomNormal(shape, 0, 1, 'float32', seed + i));
  const given = mask ? finished(seenOf(program, mask, seed), mask) : tf.scalar(0);
  return [...random, tf.scalar(SCALE), given];
}

/** The result of a program, and the gradients that it wants. */
export function stepOf(program: Program, captured: Captured): (args: readonly tf.Tensor[]) => tf.Tensor[] {
  return ([q, k, v, dy, scale, given]) => {
    const named: Record<Wanted, tf.Tensor> = { q: q!, k: k!, v: v!, mask: maskOf(program, captured, given!) };
    const { gradients, mask } = program;
    const hasMaskGradient = mask && !mask.form.startsWith('chosen');
    const names = gradients.filter((name) => name !== 'mask' || hasMaskGradient);
    const run = (...wanted: tf.Tensor[]): tf.Tensor => {
      const all = { ...named, ...Object.fromEntries(names.map((name, i) => [name, wanted[i]!])) };
      return attention(program, all, program.scale === 'captured' ? captured.scale : scale!);
    };
    if (names.length === 0) return [run()];
    const { value, grads } = tf.valueAndGrads(run)(
      names.map((name) => named[name]),
      dy,
    );
    return [value, ...grads];
  };
}

function maskOf(program: Program, captured: Captured, given: tf.Tensor): tf.Tensor {
  const { mask } = program;
  if (!mask || mask.source === 'argument') return given;
  if (mask.source === 'captured') return captured.mask;
  return finished(mask.source === 'step' ? seenOf(program, mask, 7) : captured.mask, mask);
}

function attention(program: Program, given: Record<Wanted, tf.Tensor>, scale: tf.Tensor): tf.Tensor {
  const { queries, keys, before, after, mask, others } = program;
  const chain = CHAINS[before];
  const q = chain(asHeads(given.q, program, queries));
  const [k, v] = [given.k, given.v].map((x) => chain(asHeads(x, program, keys))) as [tf.Tensor, tf.Tensor];
  const products = scaledProducts(program, q, k, scale);
  const scores = mask ? masked(products, given.mask, mask) : products;
  const probabilities = softmaxOf(program, scores);
  const kept = program.hasDropout ? tf.dropout(probabilities, 0.3, undefined, 5) : probabilities;
  const result = asResult(CHAINS[after](tf.matMul(kept, v)), program);
  const taken = { q, k, v, scores: products, probabilities };
  return others.reduce((sum, name) => tf.add(sum, tf.mean(tf.square(taken[name]))), result);
}

function scaledProducts(program: Program, q: tf.Tensor, k: tf.Tensor, scale: tf.Tensor): tf.Tensor {
  const isOfQ = program.scale === 'of q' || program.scale === 'twice';
  const left = isOfQ ? tf.mul(q, SCALE) : q;
  const dims = [...Array(q.rank).keys()].with(-1, q.rank - 2).with(-2, q.rank - 1);
  const products = program.isTransposed
    ? tf.matMul(left, tf.transpose(k, dims))
    : tf.matMul(left, k, false, true);
  switch (program.scale) {
    case 'product':
    case 'twice':
      return tf.mul(products, SCALE);
    case 'quotient':
      return tf.div(products, tf.sqrt(tf.scalar(10)));
    case 'captured':
    case 'argument':
      return tf.mul(products, scale);
    default:
      return products;
  }
}

function softmaxOf({ softmax }: Program, scores: tf.Tensor): tf.Tensor {
  if (softmax === 'softmax') return tf.softmax(scores);
  if (softmax === 'logarithms') return tf.exp(tf.logSoftmax(scores));
  const powers = tf.exp(tf.sub(scores, tf.max(scores, -1, true)));
  return tf.div(powers, tf.sum(powers, -1, true));
}
