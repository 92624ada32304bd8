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
import type { Collective, StrategyContext } from '@acc/contract';
import { requireFirstOrder } from '@acc/kernels';
import {
  nestedLayers,
  ownClassName,
  patch,
  type BatchNormalizationLayer,
  type Undo,
} from '@acc/tfjs-internals';
import { broadcastable, globalMoments, otherDims, summedMoments } from './global-moments.js';

/**
 * Lets the batch normalisation layers among `layers`, and within them, take the statistics of all ranks' samples in training:
 * k ranks compute what one rank does with the whole batch. Of layers by tfjs only, not of subclasses; not of such whose `call`
 * was replaced. Returns what gives them their own way back.
 */
export function syncBatchNorm(layers: readonly unknown[], context: StrategyContext): () => void {
  const undos: Undo[] = [];
  for (const candidate of nestedLayers(layers)) {
    if (ownClassName(candidate) !== 'BatchNormalization' || Object.hasOwn(candidate, 'call')) continue;
    const layer = candidate as BatchNormalizationLayer;
    undos.push(
      patch(layer, 'call', (own) => (inputs, kwargs) => {
        const x = Array.isArray(inputs) ? inputs[0] : inputs;
        const isTraining = kwargs?.training && x instanceof Tensor && layer.gamma && layer.beta;
        // Without gamma or beta, and for other ranks of x, tfjs throws.
        const isOurs = isTraining && x.rank >= 2 && x.rank <= 4;
        return isOurs ? tidy(() => normalize(layer, x, context)) : own.call(layer, inputs, kwargs);
      }),
    );
  }
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/** γ (x - mean) / √(variance + ε) + β on the tape, with the layer's moving statistics moved. */
function normalize(layer: BatchNormalizationLayer, x: Tensor, context: StrategyContext): Tensor {
  const { epsilon, gamma, beta } = layer;
  const axis = layer.axis < 0 ? layer.axis + x.rank : layer.axis;
  const { collective } = context;
  const { name } = layer.movingMean.read() as Variable;
  const realRows = axis === 0 ? x.shape[0]! : realRowsOf(x, context);
  const ofRanks: OfRanks = (x, call) =>
    overRanks(x, context, (own) => collective.named(name, () => call(own)));
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
          sumOverRanks: (own) => ofRanks(own, (x) => collective.allReduce(x, 'sum')),
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
 * Of x, γ and β. The statistics depend on all ranks' x, so that what all ranks' dy make of them goes back into x; the gradients of
 * γ and β are this rank's part, which the strategy sums.
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

/** Runs a collective, in a recorded step anew in each replay. */
function overRanks(x: Tensor, { kernels }: StrategyContext, call: (x: Tensor) => Tensor): Tensor {
  const { recorder } = kernels;
  return recorder ? recorder.host([x], ([own]) => [call(own!)])[0]! : call(x);
}

/** Rows that are only filling had no part in the statistics. */
function ofRealRows(x: Tensor, realRows: number): Tensor {
  if (realRows === x.shape[0]) return x;
  const filling = mul(slice(x, realRows), 0);
  return concat([slice(x, 0, realRows), filling]);
}

/** How many of the first rows of `x` are samples: all of them where prepared data did not fill its batch. */
function realRowsOf(x: Tensor, { collective, batchRows }: StrategyContext): number {
  const batch = batchRows();
  const rows = x.shape[0]!;
  const rowsOfBatch = batch?.rows[collective.rank] ?? 0;
  // A layer within `timeDistributed` sees each sample's steps as rows of their own, one after the other.
  if (rowsOfBatch === 0 || rows % rowsOfBatch !== 0) return rows;
  return (rows / rowsOfBatch) * batch!.realRows[collective.rank]!;
}

/** As tfjs: `momentum` of what the statistic was, the rest of what the batch has. */
function move(statistic: BatchNormalizationLayer['movingMean'], value: Tensor, momentum: number): void {
  const before = statistic.read();
  statistic.write(sub(before, mul(sub(before, value), 1 - momentum)));
}
