import {
  add,
  engine,
  losses,
  mul,
  Reduction,
  Tensor,
  tidy,
  util,
  type NamedAttrMap,
  type TensorLike,
} from '@tensorflow/tfjs-core';
import { gradientDepth, replaceForGood } from '@acc/tfjs-internals';
import { activeAcc } from '../acc-layer/active-acc.js';
import { SigmoidCrossEntropy, SoftmaxCrossEntropy, type CrossEntropyAttrs } from './cross-entropy-kernels.js';

type CrossEntropy = typeof losses.softmaxCrossEntropy;

const NAMES = { softmaxCrossEntropy: SoftmaxCrossEntropy, sigmoidCrossEntropy: SigmoidCrossEntropy } as const;
type Name = keyof typeof NAMES;

const ours = new WeakSet<CrossEntropy>();

/**
 * Replaces the cross-entropies of `tf.losses`, which take ten kernels, by ones that take a single
 * kernel. tfjs's own still run on other backends, and while a gradient is itself differentiated.
 */
export function replaceLosses(): void {
  const table = losses as Record<Name, CrossEntropy>;
  for (const name of Object.keys(NAMES) as Name[]) {
    if (ours.has(table[name])) continue;
    replaceForGood(table, name, (own) => crossEntropy(name, own));
    ours.add(table[name]);
  }
}

function crossEntropy(name: Name, own: CrossEntropy): CrossEntropy {
  function fused<T extends Tensor, O extends Tensor>(
    labels: T | TensorLike,
    logits: T | TensorLike,
    weights?: Tensor | TensorLike,
    labelSmoothing = 0,
    reduction = Reduction.SUM_BY_NONZERO_WEIGHTS,
  ): O {
    // tfjs handles and checks inputs that are not tensors yet.
    const areTensors = labels instanceof Tensor && logits instanceof Tensor;
    const isOurs = areTensors && logits.dtype === 'float32' && logits.rank > 0;
    if (!isOurs || !isTensorOrNone(weights) || !activeAcc() || gradientDepth() > 1) {
      return own(labels, logits, weights, labelSmoothing, reduction);
    }
    util.assertShapesMatch(labels.shape, logits.shape, `Error in ${name}: `);
    return tidy(() => {
      const targets = labelSmoothing > 0 ? smoothed(name, labels, labelSmoothing) : labels;
      const isMean = weights == null && isMeanReduction(reduction);
      const attrs = { isMean } satisfies CrossEntropyAttrs as NamedAttrMap;
      const loss = engine().runKernel(NAMES[name], { labels: targets, logits }, attrs) as Tensor;
      if (isMean) return loss as O;
      return losses.computeWeightedLoss(loss, weights ?? undefined, reduction) as O;
    });
  }
  return fused;
}

function isTensorOrNone(x: Tensor | TensorLike | null | undefined): x is Tensor | null | undefined {
  return x == null || x instanceof Tensor;
}

/** Without weights, both reductions are the mean. */
function isMeanReduction(reduction: Reduction): boolean {
  return reduction === Reduction.MEAN || reduction === Reduction.SUM_BY_NONZERO_WEIGHTS;
}

/**
 * Smooths labels as tfjs does: softmax towards 1 / classes, where tfjs reads the number of classes
 * from dim 1; sigmoid towards 0.5.
 */
function smoothed(name: Name, labels: Tensor, smoothing: number): Tensor {
  const share = name === 'softmaxCrossEntropy' ? 1 / labels.shape[1]! : 0.5;
  return add(mul(labels, 1 - smoothing), smoothing * share);
}
