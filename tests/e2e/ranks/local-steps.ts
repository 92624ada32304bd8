// Runs the same loop with plain data parallelism, LocalSGD and DiLoCo on two ranks. Reports the
// weights after each step.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DiLoCo, LocalSGD, type DiLoCoState } from '@acc/core';
import { reportResult } from '@acc/testkit';

const STEPS = 6;
const accelerator = await Accelerator.create();
const { processIndex: rank } = accelerator;
const before = tf.memory().numTensors;

interface Meeting {
  step(): void;
  end(): void;
}

/** The weights after each step, and after the end. */
async function train(
  make: (variables: tf.Variable[]) => Meeting,
  change?: (meeting: Meeting, step: number, variables: tf.Variable[]) => Promise<Meeting> | Meeting,
): Promise<number[][]> {
  const w = tf.tidy(() => tf.variable(tf.tensor1d([1, -2, 3])));
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
const runs: Record<string, number[][]> = {};
runs['plain'] = await train(() => never);
runs['localEach'] = await train((all) => new LocalSGD(accelerator, all, { localSgdSteps: 1 }));
runs['disabled'] = await train((all) => new LocalSGD(accelerator, all, { localSgdSteps: 4, enabled: false }));
runs['local'] = await train((all) => new LocalSGD(accelerator, all, { localSgdSteps: 4 }));
const outerOptimizer = tf.train.sgd(1);
runs['averaging'] = await train((all) => new DiLoCo(accelerator, all, { innerSteps: 4, outerOptimizer }));
outerOptimizer.dispose();
runs['diloco'] = await train((all) => new DiLoCo(accelerator, all, { innerSteps: 2 }));
runs['dilocoResumed'] = await train(
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
// Without communication a rank may take more steps than the others before they synchronize.
let extra = 0;
runs['uneven'] = await train((all) => {
  const local = new LocalSGD(accelerator, all, { localSgdSteps: STEPS });
  const free = tf.train.sgd(0.1);
  for (let i = 0; i < rank; i++) {
    free.minimize(() => all[0]!.sum() as tf.Scalar, false, all);
    extra++;
  }
  free.dispose();
  return local;
});
reportResult({ runs, extra, leaked: tf.memory().numTensors - before });
await accelerator.endTraining();
