import { dispose, keep, slice, type Tensor } from '@tensorflow/tfjs-core';
import type { Accelerator } from '../index.js';
import type { Check, Finding, Subject } from './check.js';
import { ROWS, smallModel, smallOptimizer, valuesOf, globalBatch, type SmallModel } from './small-model.js';

const STEPS = 5;
/** fp16 skips steps until its loss scale fits. */
const MOST_TRIES = 40;
/**
 * Differences relative to the change of the weights: those of other orders of sums, of 16 bits, and of
 * gradients whose 8-bit floats have 2 bits after the point.
 */
const TOLERANCE = { exact: 1e-3, rounded: 0.15, fp8: 0.5 };

/** A prepared model, and one step on this rank's rows. */
export interface PreparedTraining {
  readonly model: SmallModel;
  readonly step: () => void;
}

/** Prepares a model whose weights only rank 0 has. */
export function prepareTraining(accelerator: Accelerator): PreparedTraining {
  const { processIndex: rank, numProcesses: n } = accelerator;
  const model = smallModel('check', rank === 0 ? 1 : 0);
  const [, optimizer] = accelerator.prepare(model.variables, smallOptimizer());
  const { xs, ys } = globalBatch(n);
  const rows = (x: Tensor) => keep(slice(x, [rank * ROWS], [ROWS]));
  const [own, targets] = [rows(xs), rows(ys)];
  dispose([xs, ys]);
  const step = () =>
    accelerator.accumulate(() => optimizer.minimize(() => model.loss(own, targets), false, model.variables), {
      last: true,
    });
  return { model, step };
}

/** The weights before and after training as one process, without the Accelerator. */
function trainedAlone(ranks: number): { before: number[]; after: number[] } {
  const { variables, loss } = smallModel('reference', 1);
  const optimizer = smallOptimizer();
  const { xs, ys } = globalBatch(ranks);
  const before = valuesOf(variables);
  for (let step = 0; step < STEPS; step++) optimizer.minimize(() => loss(xs, ys), false, variables);
  const after = valuesOf(variables);
  optimizer.dispose();
  dispose([xs, ys, ...variables]);
  return { before, after };
}

/** Trains all ranks together, and compares with one process that has the batches of all. */
export function trainingCheck(training: () => PreparedTraining): Check {
  return { name: 'training', run: (subject) => compareTraining(subject, training) };
}

function compareTraining({ accelerator, plan }: Subject, training: () => PreparedTraining): Finding {
  const { before, after } = trainedAlone(accelerator.numProcesses);
  const { model, step } = training();
  let taken = 0;
  for (let i = 0; i < MOST_TRIES && taken < STEPS; i++) {
    step();
    if (!accelerator.optimizerStepWasSkipped) taken++;
  }
  const reached = valuesOf(model.variables);
  if (taken < STEPS) return { problem: `${taken} of ${MOST_TRIES} steps had finite gradients` };
  const difference = relativeDifference(reached, { before, after });
  const rounded = plan.mixedPrecision === 'fp8' ? TOLERANCE.fp8 : TOLERANCE.rounded;
  const limit = plan.isRounded ? rounded : TOLERANCE.exact;
  const figure = difference.toExponential(1);
  if (!(difference <= limit)) {
    return {
      problem: `after ${STEPS} steps, weights differ from one process by ${figure} of their change; expected ${limit}`,
    };
  }
  return { note: `${STEPS} steps equal those of one process up to ${figure}` };
}

/** The largest difference of a weight, relative to the root mean square of the change in training. */
export function relativeDifference(
  reached: readonly number[],
  { before, after }: { readonly before: readonly number[]; readonly after: readonly number[] },
): number {
  const squares = after.reduce((sum, value, i) => sum + (value - before[i]!) ** 2, 0);
  const change = Math.sqrt(squares / after.length);
  // NaN is the largest.
  return Math.max(...after.map((value, i) => Math.abs(value - reached[i]!) / change));
}
