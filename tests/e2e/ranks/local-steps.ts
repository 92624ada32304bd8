// Runs the same loop with plain data parallelism, LocalSGD and DiLoCo on two ranks. Reports the
// weights after each step.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DiLoCo, LocalSGD, type DiLoCoState } from '@acc/core';

const STEPS = 6;

interface Meeting {
  step(): void;
  end(): void;
}

/** The weights after each step, and after the end. */
async function train(
  accelerator: Accelerator,
  make: (variables: tf.Variable[]) => Meeting,
  change?: (meeting: Meeting, step: number, variables: tf.Variable[]) => Promise<Meeting> | Meeting,
): Promise<number[][]> {
  const { processIndex: rank } = accelerator;
  const w = tf.tidy(() => tf.variable(tf.tensor1d([1, -2, 3]), true, 'w'));
  accelerator.prepare([w]);
  const optimizer = accelerator.prepare(tf.train.sgd(0.1) as tf.Optimizer);
  let meeting = make([w]);
  const history: number[][] = [];
  for (let step = 0; step < STEPS; step++) {
    tf.tidy(() => {
      const target = tf.tensor1d([rank, step, rank * step]);
      optimizer.minimize(() => w.sub(target).square().sum() as tf.Scalar, false, [w]);
    });
    meeting.step();
    if (change) meeting = await change(meeting, step, [w]);
    history.push([...w.dataSync()]);
  }
  meeting.end();
  history.push([...w.dataSync()]);
  w.dispose();
  optimizer.dispose();
  return history;
}

const never: Meeting = { step() {}, end() {} };

/** DiLoCo whose third step begins with the state of the second one. */
function resumed(accelerator: Accelerator): Promise<number[][]> {
  return train(
    accelerator,
    (all) => new DiLoCo(accelerator, all, { innerSteps: 2 }),
    async (meeting, step, variables) => {
      if (step !== 2) return meeting;
      const weights = variables.map((variable) => variable.dataSync());
      const state: DiLoCoState = await (meeting as DiLoCo).getState();
      // `end` synchronizes a last time. The weights are then restored.
      meeting.end();
      variables.forEach((variable, i) => {
        tf.tidy(() => variable.assign(tf.tensor(weights[i]!, variable.shape)));
      });
      const next = new DiLoCo(accelerator, variables, { innerSteps: 2 });
      await next.setState(state);
      return next;
    },
  );
}

/** Without communication a rank may take more steps than the others before they synchronize. */
async function uneven(accelerator: Accelerator): Promise<{ weights: number[][]; extra: number }> {
  let extra = 0;
  const weights = await train(accelerator, (all) => {
    const local = new LocalSGD(accelerator, all, { localSgdSteps: STEPS });
    const free = tf.train.sgd(0.1);
    for (let i = 0; i < accelerator.processIndex; i++) {
      free.minimize(() => all[0]!.sum() as tf.Scalar, false, all);
      extra++;
    }
    free.dispose();
    return local;
  });
  return { weights, extra };
}

export default async function localSteps() {
  const accelerator = await Accelerator.create();
  const before = tf.memory().numTensors;
  const runs: Record<string, number[][]> = {};
  const local = (options: ConstructorParameters<typeof LocalSGD>[2]) =>
    train(accelerator, (all) => new LocalSGD(accelerator, all, options));
  runs['plain'] = await train(accelerator, () => never);
  runs['localEach'] = await local({ localSgdSteps: 1 });
  runs['disabled'] = await local({ localSgdSteps: 4, enabled: false });
  runs['local'] = await local({ localSgdSteps: 4 });
  const outerOptimizer = tf.train.sgd(1);
  const averaging = (all: tf.Variable[]) => new DiLoCo(accelerator, all, { innerSteps: 4, outerOptimizer });
  runs['averaging'] = await train(accelerator, averaging);
  outerOptimizer.dispose();
  runs['diloco'] = await train(accelerator, (all) => new DiLoCo(accelerator, all, { innerSteps: 2 }));
  runs['dilocoResumed'] = await resumed(accelerator);
  const { weights, extra } = await uneven(accelerator);
  runs['uneven'] = weights;
  const leaked = tf.memory().numTensors - before;
  accelerator.freeMemory();
  return { runs, extra, leaked };
}
