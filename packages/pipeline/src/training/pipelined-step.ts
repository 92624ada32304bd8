import {
  add,
  dispose,
  keep,
  mul,
  reshape,
  scalar,
  stack,
  Tensor,
  tensor1d,
  tidy,
  type NamedTensorMap,
  type Optimizer,
  type Scalar,
} from '@tensorflow/tfjs-core';
import { AccError, valuesOf, type Collective } from '@acc/contract';
import { describe } from '@acc/tape';
import type { ModelPipeline, PipelineResult } from '../model-pipeline.js';
import type { ScheduleName } from '@acc/planner/schedules';
import { partOf } from './micro-batches.js';
import type { LossWeight, StagedTraining } from './staged-training.js';

/** Where the gradients of a step go. */
export interface StepTarget {
  readonly model: ModelPipeline;
  readonly pipe: Collective;
  readonly trainingStep: StagedTraining;
  readonly optimizer: Optimizer;
}

/** One step on a batch. */
export interface BatchStep {
  readonly schedule: ScheduleName;
  readonly microBatches: number;
  /** The rows of each micro-batch. */
  readonly rows: number;
  /** All tensors that the program gave for the step. They keep their owner. */
  readonly given: readonly Tensor[];
  /** The inputs of the model, in its order. They keep their owner. */
  readonly xs: readonly Tensor[];
  /** The loss and metrics of a micro-batch, scalars. It runs in a tidy. */
  readonly values: (microBatch: number, outputs: readonly Tensor[]) => readonly [Tensor, ...Tensor[]];
  /** The number of metrics. */
  readonly metrics: number;
  /** Whether `fit` takes the step. Its loss has the penalties of regularizers, and it trains the model alone. */
  readonly isFit: boolean;
}

/**
 * Takes a step: forward and backward of all micro-batches, then what `minimize` does with a
 * gradient. All ranks of a pipeline call it. Returns the loss and the metrics of the batch, on each
 * rank.
 */
export function takeStep({ model, pipe, trainingStep, optimizer }: StepTarget, batch: BatchStep): Scalar[] {
  if (trainingStep.sync.isLocal || trainingStep.sync.isOff) throw insideNoSync();
  model.compareBatch(batch.given, batch.isFit);
  const { lossScale } = trainingStep;
  const losses = new Losses(batch, trainingStep, lossScale);
  const step = {
    schedule: batch.schedule,
    microBatches: batch.microBatches,
    inputs: (i: number) => partOf(batch.xs, i, batch.rows) as Tensor[],
    loss: (i: number, outputs: readonly Tensor[]) => losses.compute(i, outputs),
    seed: (i: number) => losses.seedOf(i),
    lossSeed: (lossScale * losses.ownShare) / batch.microBatches,
    shapes: batch.xs.map(({ shape, dtype }) => `${dtype}[${[batch.rows, ...shape.slice(1)].join()}]`).join(),
    ...(batch.isFit && { penaltySeed: lossScale, asFit: true }),
  };
  try {
    return [...model.run(step, endOf({ pipe, trainingStep, optimizer }, losses))] as Scalar[];
  } catch (error) {
    losses.dispose();
    throw error;
  }
}

/** The end of a step: gradients are reduced, and the optimizer applies them. */
function endOf({ pipe, trainingStep, optimizer }: Omit<StepTarget, 'model'>, losses: Losses) {
  return {
    finish(result: PipelineResult) {
      const exchanged = losses.exchange(result, pipe);
      const grads = trainingStep.names.ofOptimizer(optimizer, () => reduced(trainingStep, result, exchanged));
      return { values: exchanged.values, grads };
    },
    update({ values, grads }: Finished) {
      optimizer.applyGradients(grads);
      dispose(Object.values(grads).filter((grad) => grad !== null));
      return values.map((value) => scalar(value));
    },
  };
}

interface Finished {
  readonly values: readonly number[];
  readonly grads: NamedTensorMap;
}

/** Values that all ranks of the pipeline know after the last micro-batch. */
interface Exchanged {
  /** The loss and the metrics. */
  readonly values: readonly number[];
  /** The factor that makes the gradients those of the loss of this line of ranks. */
  readonly factor: number;
  /** The number of items by which the seeds are divided. Undefined if it is that of this line. */
  readonly unit: number | undefined;
  readonly weight: LossWeight | undefined;
  /** Whether layers of some rank have added terms to the loss. */
  readonly addsTerms: boolean;
}

/** The losses of a step's micro-batches. */
class Losses {
  readonly #weights: (LossWeight | undefined)[] = [];
  readonly #metrics: Tensor[][] = [];
  /** The rows of this rank and of all ranks, if their gradients are mixed. */
  readonly #rows: StagedTraining['rowCounts'] | undefined;
  /** The number of items by which seeds are divided. The same on all ranks whose gradients are mixed. */
  #unit: number | undefined;

  constructor(
    private readonly batch: BatchStep,
    private readonly trainingStep: StagedTraining,
    private readonly lossScale: number,
  ) {
    this.#rows = trainingStep.mixedRanks && trainingStep.rowCounts;
  }

  /** The share of the batch by which seeds are weighted already. */
  get ownShare(): number {
    return this.#rows ? this.#rows.own / this.#rows.all : 1;
  }

  compute(microBatch: number, outputs: readonly Tensor[]): Tensor {
    const { lossItems } = this.trainingStep;
    const [loss, ...metrics] = lossItems.watching(() => this.batch.values(microBatch, outputs));
    if (!(loss instanceof Tensor)) throw noTensor(loss);
    if (loss.size !== 1) throw notScalar(loss);
    this.#weights[microBatch] = lossItems.weightOf(loss, this.batch.rows);
    if (this.#rows) lossItems.requireNumber(this.#weights[microBatch]);
    this.#metrics[microBatch] = metrics.map((metric) => keep(metric));
    return reshape(loss, []);
  }

  /**
   * The gradients of a micro-batch are weighted by its items, relative to an estimate of all, as
   * those of later micro-batches may not be known yet.
   */
  seedOf(microBatch: number): number {
    const weight = this.#weights[microBatch];
    if (weight === undefined) return (this.lossScale * this.ownShare) / this.batch.microBatches;
    if (weight === 'sum') return this.lossScale;
    return (this.lossScale * weight.items) / this.#unitOf();
  }

  /** Frees what a failed step has left. */
  dispose(): void {
    for (const list of this.#metrics) dispose(list);
  }

  /** Gives every rank the values of the last stage. */
  exchange({ losses, penalty, addsTerms }: PipelineResult, pipe: Collective): Exchanged {
    const local = losses.length > 0 ? this.#read(losses) : undefined;
    const { values = new Array<number>(1 + this.batch.metrics).fill(0), factor = 0, items = 0 } = local ?? {};
    const unit = local ? (this.#unit ?? 0) : 0;
    const flags = [local?.isSum ? 1 : 0, addsTerms ? 1 : 0];
    const sums = valuesOf(
      tidy(() => pipe.allReduce(tensor1d([penalty, factor, items, ...flags, unit, ...values]))),
    );
    const [allPenalties, allFactor, allItems, isSum, terms, unitOfItems, loss, ...metrics] = sums;
    const weight = isSum ? 'sum' : allItems! >= 0 ? { items: allItems! } : undefined;
    return {
      values: [loss! + allPenalties!, ...metrics],
      factor: allFactor!,
      weight,
      addsTerms: terms! > 0,
      unit: this.#rows && !isSum ? (weight ? unitOfItems : this.#rows.all) : undefined,
    };
  }

  /**
   * The items of all micro-batches, of this line of ranks or of all that are mixed. An estimate, unless
   * the losses of all micro-batches are computed before the first gradient, as in `gpipe`.
   */
  #unitOf(): number {
    if (this.#unit !== undefined) return this.#unit;
    const { microBatches } = this.batch;
    const counts = this.#weights.map((weight) => (typeof weight === 'object' ? weight.items : 0));
    const total = counts.reduce((sum, count) => sum + count, 0);
    const items = counts.length === microBatches ? total : counts[0]! * microBatches;
    const { mixedRanks } = this.trainingStep;
    const all = mixedRanks ? valuesOf(tidy(() => mixedRanks.allReduce(tensor1d([items]), 'sum')))[0]! : items;
    return (this.#unit = all > 0 ? all : microBatches);
  }

  #read(losses: readonly Tensor[]) {
    const { microBatches } = this.batch;
    const mean = (list: readonly (readonly number[])[]) =>
      Array.from({ length: this.batch.metrics }, (_, k) => {
        return list.reduce((sum, each) => sum + each[k]!, 0) / microBatches;
      });
    const each = [...valuesOf(stack([...losses]))];
    const metrics = mean(this.#metrics.map((list) => list.map((metric) => metric.dataSync()[0]!)));
    for (const list of this.#metrics) for (const metric of list) metric.dispose();
    const total = each.reduce((sum, value) => sum + value, 0);
    const [kind] = this.#weights;
    if (this.#weights.some((weight) => typeof weight !== typeof kind)) throw mixedWeights();
    if (kind === undefined) {
      return { values: [total / microBatches, ...metrics], factor: 1, items: -1, isSum: false };
    }
    if (kind === 'sum') return { values: [total, ...metrics], factor: 1, items: -1, isSum: true };
    const counts = this.#weights.map((weight) => (weight as { readonly items: number }).items);
    const items = counts.reduce((sum, count) => sum + count, 0);
    const weighted = each.reduce((sum, value, i) => sum + (counts[i] === 0 ? 0 : value * counts[i]!), 0);
    const values = [items === 0 ? 0 : weighted / items, ...metrics];
    return { values, factor: items === 0 ? 0 : this.#unit! / items, items, isSum: false };
  }
}

/** Reduces the gradients over the ranks with the same stage, as those of a backward pass. */
function reduced(
  trainingStep: StagedTraining,
  { trained, grads, penaltyGrads }: PipelineResult,
  exchanged: Exchanged,
): NamedTensorMap {
  const { values, factor, weight, unit } = exchanged;
  if (exchanged.addsTerms && !isSumKnown(trainingStep, exchanged)) {
    dispose([...grads, ...penaltyGrads].filter((grad) => grad !== null));
    throw unknownSum();
  }
  const loss = scalar(values[0]!);
  if (weight !== undefined) trainingStep.lossItems.note(loss, weight);
  const session = trainingStep.begin(trained, loss)!;
  const share = session.weight / trainingStep.lossScale;
  const full = unit === undefined ? factor * share : session.unit === 0 ? 0 : unit / session.unit;
  trained.forEach((_, i) => {
    const grad = summed(scaled(grads[i]!, full), scaled(penaltyGrads[i]!, share));
    if (grad) session.ready(i, grad);
  });
  const finished = session.finish();
  loss.dispose();
  return Object.fromEntries(trained.map(({ name }, i) => [name, finished[i]])) as NamedTensorMap;
}

/** Whether the gradients began with the weights that they have in the end. */
function isSumKnown({ mixedRanks }: StagedTraining, { factor, weight, unit }: Exchanged): boolean {
  if (typeof weight !== 'object') return true;
  const items = mixedRanks
    ? valuesOf(tidy(() => mixedRanks.allReduce(tensor1d([weight.items]), 'sum')))[0]!
    : weight.items;
  const correction = unit === undefined ? factor : unit / items;
  return items === 0 || Math.abs(correction - 1) < 1e-5;
}

/** Takes `grad` over. */
function scaled(grad: Tensor | null, factor: number): Tensor | null {
  if (!grad || factor === 1) return grad;
  const result = mul(grad, factor);
  grad.dispose();
  return result;
}

/** Takes both over. */
function summed(a: Tensor | null, b: Tensor | null): Tensor | null {
  if (!a || !b) return a ?? b;
  const sum = add(a, b);
  dispose([a, b]);
  return sum;
}

function insideNoSync(): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    'A pipelined step was taken where gradients stay local: inside noSync, LocalSGD or DiLoCo.',
    { help: 'Take the step outside, or accumulate micro-batches with accelerator.accumulate.' },
  );
}

function noTensor(loss: unknown): AccError {
  const isLater = typeof (loss as { then?: unknown } | null | undefined)?.then === 'function';
  return new AccError(
    'ACC_INVALID_ARGUMENT',
    `pipelined: the loss function returned ${isLater ? 'a promise' : describe(loss)}, not a tensor.`,
    {
      help: isLater
        ? 'Write it without async and await: gradients need the tensor when the function returns.'
        : 'Return a tensor with one number, such as tf.losses.meanSquaredError(yTrue, yPred).',
    },
  );
}

function notScalar({ shape }: Tensor): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `pipelined: the loss has the shape [${shape.join()}].`, {
    help: 'Return one number: the mean over the rows of yTrue.',
  });
}

function unknownSum(): AccError {
  return new AccError(
    'ACC_LOSS_SEED_UNKNOWN',
    'pipelined: layers add terms to the loss, and weighLoss got other numbers of items for some micro-batches. Their sum was not known when gradients began.',
    {
      help: "Use schedule: 'gpipe', in which it is. Or give weighLoss one number for each micro-batch, or turn the terms off, for example with moe({ balanceLoss: 0, zLoss: 0 }).",
    },
  );
}

function mixedWeights(): AccError {
  return new AccError(
    'ACC_INVALID_ARGUMENT',
    'pipelined: some micro-batches gave a number of items of their loss, or a sum, and some did not.',
    { help: 'Call accelerator.weighLoss for every micro-batch, or for none.' },
  );
}
