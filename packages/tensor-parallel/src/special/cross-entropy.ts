import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { KernelCall } from '../run-on-local.js';
import type { Special, SpecialContext } from './context.js';
import { accOf, isShardedAlong, reduced, withRows } from './native.js';

const castTo = operator('aten::_to_copy');
const divide = operator('aten::div.Scalar');
const exp = operator('aten::exp');
const largest = operator('aten::amax');
const log = operator('aten::log');
const multiplyInPlace = operatorInPlace('aten::mul_.Tensor');
const negate = operator('aten::neg');
const subtract = operator('aten::sub.Tensor');
const subtractInPlace = operatorInPlace('aten::sub_.Tensor');
const sum = operator('aten::sum.dim_IntList');
const total = operator('aten::sum');

/**
 * Softmax cross-entropy of logits that are cut along the classes. Ranks exchange the maximum, the
 * sum of exponentials and the loss, one number each for a sample, and never logits (Shoeybi et al.,
 * "Megatron-LM", 2019, section 3). This rank's log probabilities are attached for the gradient.
 */
export const crossEntropy: Special = {
  whenSharded(context, call) {
    const { shards, kernels } = context;
    const { inputs, attrs } = call;
    const { labels, logits } = inputs as { labels: TensorInfo; logits: TensorInfo };
    const dim = logits.shape.length - 1;
    if (!isShardedAlong(shards, logits, dim)) return ofGathered(context, call);
    const backend = accOf(kernels.backend);
    const own = backend.native(shards.localShardOf(logits));
    using maxima = reduced(shards, largest(own, [dim], true), 'max');
    const logProbabilities = subtract(own, maxima, 1);
    using sums = reduced(shards, sumOfExponentials(logProbabilities, dim), 'sum');
    using logSums = log(sums);
    subtractInPlace(logProbabilities, logSums, 1);
    const local = withRows(shards, labels, dim, (rows) => {
      using targets = castTo(backend.native(rows), logProbabilities.dtype);
      multiplyInPlace(targets, logProbabilities);
      return attrs!['isMean'] ? total(targets) : sum(targets, [dim], false);
    });
    using sumOfRanks = reduced(shards, local, 'sum');
    const losses = attrs!['isMean'] ? divide(sumOfRanks, -samplesOf(logits)) : negate(sumOfRanks);
    const result = backend.wrap(losses, 'float32');
    backend.attach(result, [logProbabilities]);
    return result;
  },
};

/**
 * Gathers logits that are cut along the sequence, for their mean loss. The rule of the kernel would
 * make it a sum of the ranks' means, which loses the log probabilities that the gradient needs.
 */
function ofGathered(
  { shards, kernels }: SpecialContext,
  { inputs, attrs }: KernelCall,
): TensorInfo | undefined {
  const { labels, logits } = inputs as { labels: TensorInfo; logits: TensorInfo };
  if (!attrs!['isMean'] || !shards.gathers(logits)) return undefined;
  for (const x of [labels, logits]) shards.gatherFull(x);
  return kernels.run('SoftmaxCrossEntropy', { labels, logits }, attrs);
}

/** `dy` times `softmax(logits) − labels`, for this rank's classes. */
export const crossEntropyGradient: Special = { whenSharded: gradientOfClasses, ofWhole: gradientOfClasses };

function gradientOfClasses(
  { shards, kernels }: SpecialContext,
  { inputs, attrs }: KernelCall,
): TensorInfo | undefined {
  const { dy, labels, loss } = inputs as Record<'dy' | 'labels' | 'loss', TensorInfo>;
  const backend = accOf(kernels.backend);
  const [logProbabilities] = backend.hasAttached(loss) ? backend.attached(loss) : [];
  const dim = labels.shape.length - 1;
  const isCut = logProbabilities && logProbabilities.shape[dim]! * shards.line.count === labels.shape[dim];
  if (!isCut) return undefined;
  for (const x of [dy, labels]) if (shards.isSum(x)) shards.gatherFull(x);
  const own = withRows(shards, labels, dim, (rows) =>
    kernels.run('SoftmaxCrossEntropyGrad', { dy, labels: rows, loss }, attrs),
  );
  return shards.hold(own, { kind: 'rows', at: { dim, times: 1 } }, false);
}

function sumOfExponentials(x: NativeTensor, dim: number): NativeTensor {
  using exponentials = exp(x);
  return sum(exponentials, [dim], true);
}

const samplesOf = ({ shape }: TensorInfo): number => util.sizeFromShape(shape.slice(0, -1));
