import {
  add,
  concat,
  customGrad,
  div,
  mul,
  rsqrt,
  slice,
  split,
  sub,
  sum,
  Tensor,
  tidy,
  type Variable,
} from '@tensorflow/tfjs-core';
import { collectiveOnTape } from '@acc/collective';
import type { Collective, StrategyContext } from '@acc/contract';
import { requireFirstOrder } from '@acc/kernels';
import {
  isPatched,
  isReplaced,
  nestedLayers,
  tfjsClassName,
  patch,
  type BatchNormalizationLayer,
  type Undo,
} from '@acc/tfjs-internals';
import { broadcastable, globalMoments, otherDims, summedMoments } from './global-moments.js';

/**
 * Makes the batch normalisation layers in `layers`, including nested ones, use the statistics of
 * all ranks' samples in training. Then k ranks compute what one rank computes with the whole batch.
 * Only tfjs's own layers are changed: not subclasses, and not layers whose `call` was replaced.
 * Returns a function that restores the layers.
 *
 * @throws AccError `ACC_PATCH_ORDER` for layers that compute with fused kernels already.
 */
export function syncBatchNorm(layers: readonly unknown[], context: StrategyContext): () => void {
  const undos: Undo[] = [];
  for (const candidate of nestedLayers(layers)) {
    if (tfjsClassName(candidate) !== 'BatchNormalization' || computesItself(candidate)) continue;
    const layer = candidate as BatchNormalizationLayer;
    undos.push(
      patch(layer, 'call', 'batch statistics', (local) => (inputs, kwargs) => {
        const x = Array.isArray(inputs) ? inputs[0] : inputs;
        const isTraining = kwargs?.training && x instanceof Tensor && layer.gamma && layer.beta;
        // For layers without gamma or beta, and other ranks of x, the call of tfjs throws an error.
        const isOurs = isTraining && x.rank >= 2 && x.rank <= 4;
        return isOurs ? tidy(() => normalize(layer, x, context)) : local.call(layer, inputs, kwargs);
      }),
    );
  }
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/** Whether the layer has a `call` of its own that is not that of fused kernels, which come later. */
function computesItself(layer: object): boolean {
  return isReplaced(layer, 'call') && !isPatched(layer, 'call', 'fused layers');
}

/**
 * Computes γ (x - mean) / √(variance + ε) + β on the tape, and updates the layer's moving
 * statistics.
 */
function normalize(layer: BatchNormalizationLayer, x: Tensor, context: StrategyContext): Tensor {
  const { epsilon, gamma, beta } = layer;
  const axis = layer.axis < 0 ? layer.axis + x.rank : layer.axis;
  const collective = context.mesh.gradientRanks;
  const { name } = layer.movingMean.read() as Variable;
  const realRows = axis === 0 ? x.shape[0]! : realRowsOf(x, context);
  const ofRanks: OfRanks = (x, call) =>
    collectiveOnTape(x, { run: (local) => collective.named(name, () => call(local)) }, context.kernels);
  const normalized = customGrad((...args) => {
    const [input, scales, offsets, save] = args as unknown as [
      Tensor,
      Tensor,
      Tensor,
      (kept: Tensor[]) => void,
    ];
    const real = realRows === x.shape[0] ? input : slice(input, 0, realRows);
    const { mean, variance, count } = context.isDeterministic
      ? summedMoments(real, axis, {
          ranks: collective.size,
          sumOverRanks: (local) => ofRanks(local, (x) => collective.allReduce(x, 'sum')),
        })
      : globalMoments(real, axis, (row) => ofRanks(row, (x) => collective.allGather(x)));
    move(layer.movingMean, mean, layer.momentum);
    move(layer.movingVariance, variance, layer.momentum);
    const rstd = rsqrt(add(variance, epsilon));
    const centred = sub(input, broadcastable(mean, input, axis));
    const standard = mul(centred, broadcastable(rstd, input, axis));
    save([standard, scales, rstd, count]);
    const value = add(mul(standard, broadcastable(scales, input, axis)), broadcastable(offsets, input, axis));
    const gradFunc = (dy: Tensor, saved: Tensor[]) =>
      gradients(dy, saved, { axis, realRows, ofRanks, collective });
    return { value, gradFunc };
  });
  return normalized(x, gamma!.read(), beta!.read());
}

/** Runs a collective of the layer. */
type OfRanks = (x: Tensor, call: (x: Tensor) => Tensor) => Tensor;

interface GradientOptions {
  readonly axis: number;
  readonly realRows: number;
  readonly collective: Collective;
  readonly ofRanks: OfRanks;
}

/**
 * The gradients of x, γ and β. The statistics depend on the x of all ranks, so the gradient of x
 * contains a sum over the dy of all ranks. The gradients of γ and β are this rank's part, which the
 * strategy sums.
 */
function gradients(
  dy: Tensor,
  saved: Tensor[],
  { axis, realRows, collective, ofRanks }: GradientOptions,
): Tensor[] {
  requireFirstOrder('synchronised batch normalisation');
  const [standard, scales, rstd, count] = saved as [Tensor, Tensor, Tensor, Tensor];
  const others = otherDims(dy, axis);
  const dBeta = sum(dy, others);
  const dGamma = sum(mul(dy, standard), others);
  const sums = ofRanks(concat([dBeta, dGamma]), (both) => collective.allReduce(both, 'sum'));
  const [sumOfDy, sumOfDyStandard] = split(div(sums, count), 2) as [Tensor, Tensor];
  const throughStatistics = add(
    broadcastable(sumOfDy, dy, axis),
    mul(standard, broadcastable(sumOfDyStandard, dy, axis)),
  );
  const factor = broadcastable(mul(scales, rstd), dy, axis);
  const dx = mul(sub(dy, ofRealRows(throughStatistics, realRows)), factor);
  return [dx, dGamma, dBeta];
}

/** The real rows of `x`. Filling rows are not part of the statistics. */
function ofRealRows(x: Tensor, realRows: number): Tensor {
  if (realRows === x.shape[0]) return x;
  const filling = mul(slice(x, realRows), 0);
  return concat([slice(x, 0, realRows), filling]);
}

/**
 * The number of leading rows of `x` that are samples. It is smaller than the number of rows only if
 * prepared data filled the batch.
 */
function realRowsOf(x: Tensor, { mesh, batchRows }: StrategyContext): number {
  const { rank } = mesh.dataRanks;
  const batch = batchRows();
  const rows = x.shape[0]!;
  const rowsOfBatch = batch?.rows[rank] ?? 0;
  // A layer inside `timeDistributed` gets the steps of each sample as consecutive rows.
  if (rowsOfBatch === 0 || rows % rowsOfBatch !== 0) return rows;
  return (rows / rowsOfBatch) * batch!.realRows[rank]!;
}

/**
 * Updates a moving statistic like tfjs: `momentum` times the old value, plus the rest of the value
 * of the batch.
 */
function move(statistic: BatchNormalizationLayer['movingMean'], value: Tensor, momentum: number): void {
  const before = statistic.read();
  statistic.write(sub(before, mul(sub(before, value), 1 - momentum)));
}
