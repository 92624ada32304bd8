// Trainings in fp16 on two ranks. Gradients overflow on rank 0. Reports the weights and which steps
// were skipped.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, LocalSGD, oneBitAdam, type AcceleratorOptions, type NamedCommHook } from '@acc/core';
import { amp } from '@acc/amp';
import { disposeOptimizers } from '../dispose-optimizers.js';

const OVERFLOWING = 1e38;
const INITIAL = 1024;
const COUNT = 8;
const HOOKS: Record<string, NamedCommHook> = {
  powerSgd: { name: 'powerSgd', startIteration: 2 },
  'powerSgd at once': { name: 'powerSgd', startIteration: 0 },
  topK: { name: 'topK', ratio: 0.25 },
  oneBit: { name: 'oneBit', warmupSteps: 3 },
};

const rank = Number(process.env['RANK']);

async function create(options: AcceleratorOptions, make: () => tf.Optimizer = () => tf.train.sgd(0.125)) {
  const lossScale = { initial: INITIAL };
  const accelerator = await Accelerator.create({
    engine: 'acc',
    mixedPrecision: 'fp16',
    amp: { lossScale },
    ...options,
  });
  const variables = [4, 8].map((size, i) => tf.variable(tf.ones([size, 8]), true, `w${i}`));
  const optimizer = accelerator.prepare(make());
  accelerator.prepare(variables);
  const skipped: boolean[] = [];
  return {
    accelerator,
    variables,
    skipped,
    /** @param slope Of the loss over the second variable. */
    step(slope: number, seed = 0) {
      tf.tidy(() => {
        const noise = (size: number) =>
          tf.sin(tf.range(0, size * 8).add(5 * seed + 40 * rank)).reshape([size, 8]);
        const loss = () =>
          variables[0]!
            .mul(noise(4))
            .sum()
            .add(variables[1]!.mul(noise(8)).mul(slope).sum()) as tf.Scalar;
        optimizer.minimize(loss, false, variables);
      });
      skipped.push(accelerator.optimizerStepWasSkipped);
    },
    end() {
      const weights = variables.map((variable) => [...variable.dataSync()]);
      accelerator.freeMemory();
      disposeOptimizers(optimizer);
      tf.dispose(variables);
      return { weights, skipped };
    },
  };
}

/** The second of four steps overflows on rank 0. */
async function apply() {
  const { step, end } = await create({ ddp: { syncAt: 'apply' } });
  for (const seed of [0, 1, 2, 3]) step(seed === 1 && rank === 0 ? OVERFLOWING : 1, seed);
  return end();
}

/**
 * Rank 0 skips a step while ranks train alone. Then both take two steps together; the second
 * overflows on rank 1.
 */
async function local() {
  // As a plugin of the user's, which may have the hooks of any, its state can be asked for.
  const { autocast: _, ...precision } = amp('float16', { lossScale: { initial: INITIAL } });
  const { accelerator, step, end, variables, skipped } = await create({
    mixedPrecision: 'no',
    plugins: [precision],
  });
  const scale = () => (precision.getState() as { lossScale: { scale: number } }).lossScale.scale;
  const meeting = new LocalSGD(accelerator, variables, { localSgdSteps: 2 });
  for (const seed of [0, 1]) {
    step(seed === 0 && rank === 0 ? OVERFLOWING : 1, seed);
    meeting.step();
  }
  meeting.end();
  const before = variables.map((variable) => [...variable.dataSync()]);
  const alone = skipped.splice(0);
  const scales = [scale()];
  step(1, 2);
  step(rank === 1 ? OVERFLOWING : 1, 3);
  step(1, 4);
  scales.push(scale());
  return { ...end(), before, alone, scales };
}

/** `overflowsAt`: the gradients of one additional step overflow. The step must have no effect. */
async function hooked(name: string, overflowsAt: readonly number[]) {
  const commHook = HOOKS[name]!;
  const adam = () => oneBitAdam({ learningRate: 0.01, warmupSteps: 3 });
  // Buckets of one variable each: only one of them is not finite.
  const { step, end } = await create(
    { ddp: { commHook, bucketBytes: 4 } },
    name === 'oneBit' ? adam : undefined,
  );
  for (let seed = 0; seed < COUNT; seed++) {
    if (overflowsAt.includes(seed)) step(rank === 0 ? OVERFLOWING : 1, 100);
    step(1, seed);
  }
  return end();
}

export default async function lossScale(): Promise<Record<string, object>> {
  const results: Record<string, object> = { apply: await apply(), local: await local() };
  for (const name of Object.keys(HOOKS)) {
    results[name] = await hooked(name, []);
    results[`${name} overflowing`] = await hooked(name, [0, 2, 5]);
  }
  return results;
}
