// Programs with plain variables that only prepare the optimizer. Each case has its own Accelerator
// and reports the final values of its variables.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, LocalSGD, type AcceleratorOptions } from '@acc/core';

const engine = () => (tf.getBackend() === 'cpu' ? 'tfjs' : 'acc');
const ROWS = 12;
const STEPS = 4;
const features = () => tf.sin(tf.range(0, ROWS * 3)).reshape([ROWS, 3]) as tf.Tensor2D;
const targets = () => tf.cos(tf.range(0, ROWS)).reshape([ROWS, 1]) as tf.Tensor2D;

/** The objects of a case. */
interface Context {
  readonly accelerator: Accelerator;
  readonly rank: number;
  readonly size: number;
  readonly w: tf.Variable;
  readonly b: tf.Variable;
  /** The mean loss of this rank. */
  readonly loss: () => tf.Scalar;
  /** This rank's part of the rows of `x`. */
  readonly part: (x: tf.Tensor2D) => tf.Tensor2D;
}

/** The optimizers of the case, which keep tensors. */
const made: tf.SGDOptimizer[] = [];
const sgd = (learningRate: number) => {
  made.push(tf.train.sgd(learningRate));
  return made.at(-1)!;
};

/** How many tensors each case left. */
const leaks: number[] = [];

type Values = Record<string, number[] | string>;

/** The variables of rank r begin r higher than those of rank 0. */
async function run(
  options: AcceleratorOptions,
  body: (context: Context) => Values | Promise<Values>,
): Promise<Values> {
  const accelerator = await Accelerator.create({ engine: engine(), ...options });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const w = tf.variable(tf.tensor2d([0.5, -0.2, 0.1], [3, 1]).add(rank), true, 'w');
  const b = tf.variable(tf.tensor1d([0.3]).add(rank), true, 'b');
  const part = (x: tf.Tensor2D) => x.slice(rank * (ROWS / size), ROWS / size);
  const loss = () => part(features()).matMul(w).add(b).sub(part(targets())).square().mean().asScalar();
  const before = tf.memory().numTensors;
  try {
    const values = await body({ accelerator, rank, size, w, b, loss, part });
    return { w: [...w.dataSync()], b: [...b.dataSync()], ...values };
  } finally {
    accelerator.freeMemory();
    tf.dispose([w, b]);
    tf.disposeVariables();
    for (const optimizer of made.splice(0)) optimizer.dispose();
    // The earlier optimizer has w and b, which are disposed.
    leaks.push(tf.memory().numTensors - before + 2);
  }
}

/** tfjs's types declare the gradients as variables. */
const apply = (optimizer: tf.Optimizer, grads: tf.NamedTensorMap) =>
  optimizer.applyGradients(grads as tf.NamedTensorMap & Record<string, tf.Variable>);

const steps = (step: (k: number) => void) => {
  for (let k = 0; k < STEPS; k++) tf.tidy(() => step(k));
  return {};
};

const codeOf = (fn: () => unknown): Values => {
  try {
    tf.tidy(() => void fn());
    return { code: 'none', names: '' };
  } catch (error) {
    const { code, details } = error as { code: string; details?: { names?: string[] } };
    return { code, names: (details?.names ?? []).join() };
  }
};

const cases: Record<string, () => Promise<Values>> = {
  withoutList: () =>
    run({}, ({ accelerator, loss }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      return steps(() => optimizer.minimize(loss));
    }),
  withList: () =>
    run({}, ({ accelerator, loss, w, b }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      return steps(() => optimizer.minimize(loss, false, [w, b]));
    }),
  computeGradients: () =>
    run({}, ({ accelerator, loss, w, b }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      return steps(() => apply(optimizer, optimizer.computeGradients(loss, [w, b]).grads));
    }),
  backward: () =>
    run({}, ({ accelerator, loss, w, b }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      return steps(() => apply(optimizer, accelerator.backward(loss, [w, b]).grads));
    }),
  // Two micro-batches of each rank make one step. It equals the step of one batch, because their
  // means have equal weights.
  accumulated: () =>
    run({ gradientAccumulationSteps: 2 }, ({ accelerator, loss }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      for (let k = 0; k < 2 * STEPS; k++) accelerator.accumulate(() => optimizer.minimize(loss));
      return {};
    }),
  clippedAndAccumulated: () =>
    run({ gradientAccumulationSteps: 2, gradientClipping: { norm: 0.05 } }, ({ accelerator, loss }) => {
      const optimizer = accelerator.prepare(sgd(0.1));
      for (let k = 0; k < 2 * STEPS; k++) accelerator.accumulate(() => optimizer.minimize(loss));
      return {};
    }),
  // The variables are prepared, but the optimizer is not. The options still apply.
  unpreparedOptimizer: () =>
    run({ gradientAccumulationSteps: 2, gradientClipping: { norm: 0.05 } }, ({ accelerator, loss, w, b }) => {
      accelerator.prepare([w, b]);
      const optimizer = sgd(0.1);
      for (let k = 0; k < 2 * STEPS; k++) accelerator.accumulate(() => optimizer.minimize(loss));
      return {};
    }),
  unpreparedOptimizerApplies: () =>
    run({ gradientAccumulationSteps: 2, gradientClipping: { norm: 0.05 } }, ({ accelerator, loss, w, b }) => {
      accelerator.prepare([w, b]);
      const optimizer = sgd(0.1);
      for (let k = 0; k < 2 * STEPS; k++) {
        accelerator.accumulate(() => tf.tidy(() => apply(optimizer, tf.variableGrads(loss, [w, b]).grads)));
      }
      return {};
    }),
  // An average of the weights that is not trained; a variable that each rank trains independently;
  // an unused variable.
  others: () =>
    run({}, ({ accelerator, loss, w, rank }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      const [ema, frozen, own] = tf.tidy(() => [
        tf.variable(w.clone(), true, 'ema'),
        tf.variable(tf.scalar(rank), false, 'frozen'),
        tf.variable(tf.scalar(7), true, 'own'),
      ]) as [tf.Variable, tf.Variable, tf.Variable];
      const ownOptimizer = sgd(1);
      steps(() => {
        optimizer.minimize(loss);
        ema.assign(ema.mul(0.5).add(w.mul(0.5)));
        ownOptimizer.minimize(() => own.mul(rank + 1).asScalar(), false, [own]);
      });
      return {
        ema: [...ema.dataSync()],
        frozenMinusRank: [frozen.dataSync()[0]! - rank],
        ownPerRank: [(7 - own.dataSync()[0]!) / (rank + 1)],
      };
    }),
  // The loss uses b from the third step on.
  usedLater: () =>
    run({}, ({ accelerator, loss, part, w }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      const withoutB = () => part(features()).matMul(w).sub(part(targets())).square().mean().asScalar();
      return steps((k) => optimizer.minimize(k < 2 ? withoutB : loss));
    }),
  // Ranks do not compare a variable that exists on one rank only.
  onOneRank: () =>
    run({}, ({ accelerator, loss, rank }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      if (rank === 0) tf.tidy(() => tf.variable(tf.scalar(1), true, 'only-here'));
      return steps(() => optimizer.minimize(loss));
    }),
  syncAtApply: () =>
    run({ ddp: { syncAt: 'apply' } }, ({ accelerator, loss }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      return steps(() => optimizer.minimize(loss));
    }),
  resumed: async () => {
    const first = await Accelerator.create({ engine: engine() });
    const dir = first.broadcastObject(mkdtempSync(join(tmpdir(), 'acc-prepared-optimizer-')));
    first.freeMemory();
    return run({ projectDir: dir }, async ({ accelerator, loss, w, b }) => {
      const optimizer = accelerator.prepare(tf.train.adam(0.1));
      for (let k = 0; k < 2; k++) optimizer.minimize(loss);
      await accelerator.saveState(join(dir, 'at-2'));
      accelerator.freeMemory();
      const values = [tf.zerosLike(w), tf.zerosLike(b)];
      w.assign(values[0]!);
      b.assign(values[1]!);
      tf.dispose(values);
      const second = await Accelerator.create({ engine: engine(), projectDir: dir });
      const again = second.prepare(tf.train.adam(0.1));
      await second.loadState(join(dir, 'at-2'));
      for (let k = 0; k < 2; k++) again.minimize(loss);
      second.waitForEveryone();
      if (second.isMainProcess) rmSync(dir, { recursive: true });
      second.freeMemory();
      return {};
    });
  },
  refusedGradients: () =>
    run({}, ({ accelerator, loss, w, b }) => {
      const optimizer = accelerator.prepare(sgd(0.1));
      return codeOf(() => apply(optimizer, tf.variableGrads(loss, [w, b]).grads));
    }),
  refusedInPrecision: () =>
    run({ mixedPrecision: 'bf16' }, ({ accelerator, loss, w, b }) => {
      const optimizer = accelerator.prepare(sgd(0.1));
      return codeOf(() => apply(optimizer, tf.variableGrads(loss, [w, b]).grads));
    }),
  refusedBesideLocalSgd: () =>
    run({}, ({ accelerator, loss, w, b }) => {
      const optimizer = accelerator.prepare(sgd(0.1));
      accelerator.prepare([w, b]);
      const local = new LocalSGD(accelerator, [w], { localSgdSteps: 2 });
      const result = codeOf(() => optimizer.minimize(loss));
      local.end();
      return result;
    }),
  differentLists: () =>
    run({}, ({ accelerator, loss, w, b, rank }) => {
      const optimizer = accelerator.prepare(sgd(0.1));
      return codeOf(() => optimizer.minimize(loss, false, rank === 0 ? [w, b] : [w]));
    }),
  bf16: () =>
    run({ mixedPrecision: 'bf16' }, ({ accelerator, loss }) => {
      const optimizer = accelerator.prepare(sgd(0.1));
      return steps(() => optimizer.minimize(loss));
    }),
  bf16Prepared: () =>
    run({ mixedPrecision: 'bf16' }, ({ accelerator, loss, w, b }) => {
      const [optimizer] = accelerator.prepare(sgd(0.1), [w, b]);
      return steps(() => optimizer.minimize(loss));
    }),
};

export interface Result {
  readonly backend: string;
  readonly results: Record<string, Values>;
  readonly leaks: readonly number[];
}

export default async function preparedOptimizer(backend: 'acc' | 'cpu'): Promise<Result> {
  await tf.setBackend(backend);
  const results: Record<string, Values> = {};
  for (const [name, run] of Object.entries(cases)) {
    // bf16 needs the engine acc.
    if (backend === 'cpu' && /bf16|Precision/.test(name)) continue;
    results[name] = await run();
  }
  const result = { backend: tf.getBackend(), results, leaks: leaks.splice(0) };
  await tf.setBackend('acc');
  return result;
}
