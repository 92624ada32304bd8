import { AccError } from '@acc/contract';
import { activationsOf, partsOf, type Activations, type BatchSizes, type Precision } from './activations.js';
import type { Architecture } from './architecture.js';
import { replicated, sharded, type Layout, type OptimizerElements, type StrategyName } from './layouts.js';
import type { ModelSizes } from './model-sizes.js';
import { memoryOf, type OptimizerName, type StateBits } from './optimizers.js';

export interface EstimateOptions {
  readonly optimizer: OptimizerName;
  /** Bits of an element of its state. Default 32. */
  readonly stateBits?: StateBits | undefined;
  readonly precisions: readonly Precision[];
  /** The numbers of ranks, each above 1. */
  readonly ranks: readonly number[];
  /** Undefined: all ranks are on one host. */
  readonly ranksPerHost: number | undefined;
  /** Undefined: activations are not estimated. */
  readonly batch: BatchSizes | undefined;
}

/** The moment of a step at which it needs most memory. */
export type Moment = 'loss' | 'backward' | 'end of backward' | 'optimizer step';

/** Bytes of tensors on each rank. */
export interface Estimate {
  readonly precision: Precision;
  readonly strategy: StrategyName;
  readonly ranks: number;
  readonly parameterBytes: number;
  readonly gradientBytes: number;
  readonly optimizerBytes: number;
  /**
   * With 16-bit copies of weights, without gradients of weights. Null: not known, and not in the
   * peak.
   */
  readonly activationBytes: number | null;
  /**
   * Whole units beside the shards: of gradients, and in stage 3 of weights. Null: not known, and not
   * in the peak.
   */
  readonly gatheredBytes: number | null;
  readonly peakBytes: number;
  readonly peakAt: Moment;
  /** Parameters, gradients and optimizer state, for each parameter of the whole model. */
  readonly bytesPerParameter: number;
}

/**
 * Memory for each precision, strategy and number of ranks.
 *
 * @throws AccError `ACC_BAD_OPTION` for Adafactor and a model whose shapes are not known.
 */
export function estimateMemory(model: ModelSizes, options: EstimateOptions): Estimate[] {
  const optimizer = elementsOf(model, options);
  return options.precisions.flatMap((precision) =>
    layoutsOf(model, optimizer, precision, options).map((layout) =>
      estimateOf(model, layout, precision, options.batch),
    ),
  );
}

function elementsOf(
  { trainable, factored, largestTensor }: ModelSizes,
  { optimizer, stateBits }: EstimateOptions,
): OptimizerElements {
  const { state, temporary } = memoryOf(optimizer, stateBits);
  if (state !== 'factored') return { state: state * trainable, temporary: temporary * trainable };
  if (factored !== undefined && largestTensor !== undefined) {
    return { state: factored, temporary: temporary * trainable + largestTensor, isStateWhole: true };
  }
  throw new AccError(
    'ACC_BAD_OPTION',
    'The state of adafactor depends on the shapes of weights, which are not known.',
    {
      help: 'Give a model in place of its number of parameters.',
    },
  );
}

function layoutsOf(
  model: ModelSizes,
  optimizer: OptimizerElements,
  precision: Precision,
  { ranks, ranksPerHost = Infinity }: EstimateOptions,
): Layout[] {
  const forEachCount = (strategy: StrategyName, of: (count: number) => Omit<Layout, 'strategy' | 'ranks'>) =>
    ranks.map((count) => ({ strategy, ranks: count, ...of(count) }));
  const stage = (number: 1 | 2 | 3) => (count: number) =>
    sharded(model, optimizer, precision, { stage: number, shards: count });
  const isHybrid = (count: number) => ranksPerHost > 1 && count > ranksPerHost && count % ranksPerHost === 0;
  return [
    { strategy: 'single', ranks: 1, ...replicated(model, optimizer, precision, false) },
    ...forEachCount('ddp', (count) => replicated(model, optimizer, precision, count > ranksPerHost)),
    ...forEachCount('zero-1', stage(1)),
    ...forEachCount('zero-2', stage(2)),
    ...forEachCount('zero-3', stage(3)),
    ...forEachCount('zero-3-hybrid', () => stage(3)(ranksPerHost)).filter((layout) => isHybrid(layout.ranks)),
  ];
}

function estimateOf(
  model: ModelSizes,
  layout: Layout,
  precision: Precision,
  batch: BatchSizes | undefined,
): Estimate {
  const { strategy, ranks, parameterBytes, gradientBytes, optimizerBytes } = layout;
  const { wholeWeightBytes, wholeGradientBytes } = layout;
  const { activationBytes, moments } = momentsOf(model, layout, precision, batch);
  const [peakAt, most] = moments.reduce((a, b) => (b[1] > a[1] ? b : a));
  return {
    ...{ precision, strategy, ranks, parameterBytes, gradientBytes, optimizerBytes },
    activationBytes,
    gatheredBytes:
      wholeWeightBytes === null || wholeGradientBytes === null ? null : wholeWeightBytes + wholeGradientBytes,
    peakBytes: parameterBytes + optimizerBytes + most,
    peakAt,
    bytesPerParameter: (parameterBytes + gradientBytes + optimizerBytes) / model.parameters,
  };
}

const FLOAT_BYTES = 4;

interface Moments {
  readonly activationBytes: number | null;
  /** Bytes beside parameters and the optimizer's state. */
  readonly moments: [Moment, number][];
}

/**
 * The moments of a step at which memory may have its peak. Activations shrink from layer to layer
 * while gradients grow, both evenly, so of all layers the last and the first are enough.
 */
function momentsOf(
  { architecture, trainable }: ModelSizes,
  { gradientBytes, stepBytes, packedBytes, copyBytes, ...layout }: Layout,
  precision: Precision,
  batch: BatchSizes | undefined,
): Moments {
  const weights = layout.wholeWeightBytes ?? 0;
  const gradients = layout.wholeGradientBytes ?? 0;
  const step: [Moment, number] = ['optimizer step', gradientBytes + stepBytes];
  if (!architecture || !batch) {
    return {
      activationBytes: null,
      moments: [['end of backward', gradientBytes + packedBytes + gradients], step],
    };
  }
  const { all, loss, inBackward, end } = atMoments(
    architecture,
    activationsOf(architecture, precision, batch),
    {
      copyBytes,
      gradientBytes,
      trainable,
      travellingBytes: layout.travellingBytes ?? 0,
    },
  );
  return {
    activationBytes: all + Math.max(loss, inBackward.mlp),
    moments: [
      ['loss', all + loss + weights],
      ['backward', inBackward.most + weights],
      ['end of backward', gradientBytes + packedBytes + end + gradients],
      step,
    ],
  };
}

interface Held {
  readonly copyBytes: number;
  readonly gradientBytes: number;
  readonly trainable: number;
  readonly travellingBytes: number;
}

/** The memory of a transformer at the moments of a step: for all its layers, and beside them. */
function atMoments(
  architecture: Architecture,
  { layer, loss, head, mlp, end }: Activations,
  { copyBytes, gradientBytes, trainable, travellingBytes }: Held,
) {
  const parts = partsOf(architecture);
  const kept = layer + copyBytes * parts.layer;
  const all = architecture.layers * kept;
  // 16-bit products give 16-bit gradients, which are then converted.
  const fresh = copyBytes + FLOAT_BYTES;
  const above = Math.max(0, trainable - parts.embedding - parts.layer) / Math.max(1, trainable);
  // Units are on their way only as far as backward has come.
  const travelling = Math.min(travellingBytes, FLOAT_BYTES * trainable * above);
  // The gradient of a tied embedding has two terms, which exist beside their sum.
  const terms = architecture.isTied ? 2 * FLOAT_BYTES * parts.head : 0;
  const most = Math.max(
    all + head + (fresh + copyBytes) * parts.head,
    all + mlp + FLOAT_BYTES * parts.head + fresh * parts.contract,
    kept + mlp + gradientBytes * above + travelling + fresh * parts.contract,
  );
  return { all, loss: loss + copyBytes * parts.head, inBackward: { mlp, most }, end: end + terms };
}
