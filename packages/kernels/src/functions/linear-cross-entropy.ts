import {
  add,
  BatchMatMul,
  cast,
  clipByValue,
  concat,
  customGrad,
  div,
  engine,
  equal,
  exp,
  expandDims,
  gather,
  gatherND,
  logSumExp,
  matMul,
  mul,
  notEqual,
  range,
  scalar,
  slice,
  stack,
  sub,
  sum,
  Tensor,
  tidy,
  where,
  zeros,
  zerosLike,
  type GradSaveFunc,
  type Scalar,
  type Tensor1D,
  type Tensor2D,
} from '@tensorflow/tfjs-core';
import { AccError, checkKeys } from '@acc/contract';
import { activeAcc } from '#platform/active-acc';
import { requireFirstOrder } from '../tape.js';
import { requireFloat, requireShape } from './check-input.js';

export interface LinearCrossEntropyOptions {
  /** `[vocabulary]`, added to the logits. Default: none. */
  readonly bias?: Tensor | null;
  /** Rows with this label do not count. Default: all rows count. */
  readonly ignoreLabel?: number;
  /** Rows whose logits are computed together. Default: so many that their logits take 32 MB. */
  readonly chunk?: number;
}

/** Elements of a part of the logits: 32 MB. */
const PART_ELEMENTS = 2 ** 23;

interface Head {
  readonly hidden: Tensor2D;
  readonly weight: Tensor2D;
  readonly bias: Tensor | null;
}

/**
 * The mean over rows of the cross entropy between labels and the softmax of hidden · weightᵀ + bias, as
 * a language model has at its end. Logits of more than 2²³ elements are not in memory together: forward
 * takes rows in chunks and keeps one number a row, and backward computes the logits again, for a part of the
 * vocabulary at a time (Wijmans et al., "Cut Your Losses in Large-Vocabulary Language Models", 2025).
 * Works on every backend. With `mixedPrecision` `'int8'` and `'fp8'`, its products compute in bf16. Caller disposes.
 *
 * @param hidden `[rows, width]`, float32.
 * @param weight `[vocabulary, width]`, float32.
 * @param labels `[rows]`, int32, from 0.
 * @returns 0 if no row counts.
 * @throws AccError `ACC_INDEX_OUT_OF_RANGE` for a label outside the vocabulary, `ACC_DTYPE_UNSUPPORTED`, `ACC_SHAPE_MISMATCH`, `ACC_UNKNOWN_OPTION`,
 * `ACC_INVALID_OPTION`, `ACC_INVALID_ARGUMENT`. `ACC_NO_SECOND_GRADIENT` for second derivatives.
 * `ACC_STRATEGY_CANNOT` where ranks along the axis
 * `tensor` have shards of a tensor.
 */
export function linearCrossEntropy(
  hidden: Tensor2D,
  weight: Tensor2D,
  labels: Tensor1D,
  options: LinearCrossEntropyOptions = {},
): Scalar {
  checkKeys('linearCrossEntropy', options, ['bias', 'ignoreLabel', 'chunk']);
  const { bias = null, ignoreLabel } = options;
  requireHead({ hidden, weight, bias }, labels);
  const chunk = chunkOf(options.chunk, weight);
  const run = customGrad((...args: (Tensor | GradSaveFunc)[]) => {
    const save = args.at(-1) as GradSaveFunc;
    const head = headOf(args.slice(0, -1) as Tensor[]);
    const { loss, sums, shares } = forward(head, labels, { ignoreLabel, chunk });
    save([...(args.slice(0, -1) as Tensor[]), labels, sums, shares]);
    const gradFunc = (dy: Tensor, saved: Tensor[]) => {
      requireFirstOrder('linearCrossEntropy');
      return gradients(headOf(saved.slice(0, -3)), saved.slice(-3) as Known, { dy, chunk });
    };
    return { value: loss, gradFunc };
  });
  return run(hidden, weight, ...(bias ? [bias] : [])) as Scalar;
}

const headOf = ([hidden, weight, bias = null]: readonly (Tensor | null)[]): Head => ({
  hidden: hidden as Tensor2D,
  weight: weight as Tensor2D,
  bias,
});

/** Labels, and of each row log Σ exp(logits) and its share in the loss. */
type Known = [labels: Tensor1D, sums: Tensor1D, shares: Tensor1D];

interface ForwardOptions {
  readonly ignoreLabel: number | undefined;
  readonly chunk: number;
}

function forward(head: Head, labels: Tensor1D, { ignoreLabel, chunk }: ForwardOptions) {
  const { hidden, weight, bias } = head;
  const [rows, width] = hidden.shape;
  const counts = ignoreLabel === undefined ? undefined : notEqual(labels, scalar(ignoreLabel, 'int32'));
  const some = counts ? where(counts, labels, zerosLike(labels)) : labels;
  // Also refuses labels outside of the vocabulary, which gatherND on tfjs cpu does not.
  const known = gather(range(0, weight.shape[0], 1, 'int32'), some) as Tensor1D;
  const counted = cast(counts ?? equal(labels, labels), 'float32');
  const shares = div(counted, clipByValue(sum(counted), 1, Math.max(rows, 1))) as Tensor1D;
  const sums: Tensor[] = [];
  const losses: Tensor[] = [];
  for (let begin = 0; begin < rows; begin += chunk) {
    const count = Math.min(chunk, rows - begin);
    const [ofRows, loss] = tidy(() => {
      const part = slice(hidden, [begin, 0], [count, width]);
      const own = slice(known, begin, count);
      const logits = logitsOf(part, weight, bias);
      const logarithms = logSumExp(logits, -1);
      const chosen = gatherND(logits, stack([range(0, count, 1, 'int32'), own], -1));
      return [logarithms, sub(logarithms, chosen)];
    }) as [Tensor, Tensor];
    sums.push(ofRows);
    losses.push(loss);
  }
  const loss = rows === 0 ? zeros([]) : sum(mul(concat(losses), shares));
  return { loss: loss as Scalar, sums: (rows === 0 ? zeros([0]) : concat(sums)) as Tensor1D, shares };
}

/** Forward and backward compute the same logits: 8 bits would round each part of the vocabulary on its own. */
function logitsOf(hidden: Tensor2D, weight: Tensor2D, bias: Tensor | null): Tensor2D {
  const attrs = { transposeA: false, transposeB: true, without8Bits: true };
  const products: Tensor2D = engine().runKernel(BatchMatMul, { a: hidden, b: weight }, attrs);
  return bias ? add<Tensor2D>(products, bias) : products;
}

/**
 * The gradients of hidden, weight and bias. By parts of the vocabulary, so that each part of the
 * weight's gradient is one product.
 */
function gradients(
  { hidden, weight, bias }: Head,
  [labels, sums, shares]: Known,
  { dy, chunk }: { readonly dy: Tensor; readonly chunk: number },
): Tensor[] {
  const [[rows, width], [vocabulary]] = [hidden.shape, weight.shape];
  const part = Math.max(1, Math.ceil((Math.min(chunk, rows) * vocabulary) / Math.max(rows, 1)));
  const factors = expandDims(mul(shares, dy), -1);
  const ofWeight: Tensor[] = [];
  const ofBias: Tensor[] = [];
  // Of float32, also where `hidden` has 16 bits.
  let ofHidden: Tensor = zeros(hidden.shape);
  for (let begin = 0; begin < vocabulary; begin += part) {
    const count = Math.min(part, vocabulary - begin);
    const [sumHidden, dWeight, dBias] = tidy(() => {
      const own = slice(weight, [begin, 0], [count, width]);
      const logits = logitsOf(hidden, own, bias && slice(bias, [begin], [count]));
      const targets = cast(equal(expandDims(labels, -1), range(begin, begin + count, 1, 'int32')), 'float32');
      const errors = mul(sub(exp(sub(logits, expandDims(sums, -1))), targets), factors) as Tensor2D;
      const ofPart = add(ofHidden, matMul(errors, own));
      return [ofPart, matMul(errors, hidden, true), sum(errors, 0)];
    }) as [Tensor, Tensor, Tensor];
    ofHidden.dispose();
    ofHidden = sumHidden;
    ofWeight.push(dWeight);
    if (bias) ofBias.push(dBias);
    else dBias.dispose();
  }
  return [ofHidden, concat(ofWeight), ...(bias ? [concat(ofBias)] : [])];
}

function requireHead({ hidden, weight, bias }: Head, labels: Tensor1D): void {
  const where = 'linearCrossEntropy';
  requireFloat(where, 'hidden', hidden);
  requireFloat(where, 'weight', weight);
  const [rows, width] = hidden.shape;
  if (hidden.rank !== 2)
    requireShape(where, 'hidden', hidden, [
      hidden.size / (hidden.shape.at(-1) ?? 1),
      hidden.shape.at(-1) ?? 1,
    ]);
  requireShape(where, 'weight', weight, [weight.shape[0] ?? 0, width]);
  if (bias) {
    requireFloat(where, 'bias', bias);
    requireShape(where, 'bias', bias, [weight.shape[0]]);
  }
  if (!(labels instanceof Tensor) || labels.dtype !== 'int32') {
    throw new AccError('ACC_DTYPE_UNSUPPORTED', `${where}: labels are not a tensor of int32.`, {
      help: "Give the numbers of classes: tf.tensor1d(labels, 'int32').",
    });
  }
  requireShape(where, 'labels', labels, [rows]);
  const sharded = Object.entries({ hidden, weight, bias, labels }).find(
    ([, x]) => x && activeAcc()?.shardsOf(x)?.index !== undefined,
  );
  if (!sharded) return;
  throw new AccError(
    'ACC_STRATEGY_CANNOT',
    `${where}: ranks along the axis tensor have shards of ${sharded[0]}, and each rank needs all of it.`,
    { help: 'Use tf.matMul and tf.losses.softmaxCrossEntropy there, or leave the layer out of parallelize.' },
  );
}

function chunkOf(given: number | undefined, weight: Tensor2D): number {
  if (given === undefined) return Math.max(1, Math.floor(PART_ELEMENTS / Math.max(1, weight.shape[0])));
  if (Number.isInteger(given) && given > 0) return given;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `linearCrossEntropy: chunk is ${String(given)}; expected a whole number of rows from 1.`,
    { help: 'Leave it out for its default.' },
  );
}
