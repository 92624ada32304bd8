// Runs every case of ../cases.ts on both backends. Reports the gradients, weights and hook states
// after each step.
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  castHook,
  DiLoCo,
  LocalSGD,
  oneBitAdam,
  oneBitHook,
  powerSgdHook,
  sgdw,
  topKHook,
  type CommHook,
  type CommHookState,
} from '@acc/core';
import {
  HOOK_CASES,
  isUnused,
  LOCAL,
  LOCAL_CASES,
  ONE_BIT_ADAM,
  ONE_BIT_ADAM_CASE,
  PYTORCH_CAST,
  startingQs,
  STEPS,
  type HookCase,
  type HookSpec,
} from '../cases.js';
import { numbers } from '../numbers.js';
import { aliases } from './aliases.js';

export interface HookRun {
  /** By step and variable. */
  readonly grads: Float32Array[][];
  /** After each step. */
  readonly states: CommHookState[];
}

export interface Run {
  readonly hooks: Record<string, HookRun>;
  readonly cast: Float32Array;
  /** Weights by case, step (the last one is after the end) and variable. */
  readonly local: Record<string, Float32Array[][]>;
  /** Weights by step and variable. */
  readonly oneBitAdam: Float32Array[][];
  readonly aliases: ReturnType<typeof aliases>;
  readonly leaked: number;
}

export type Report = Record<'acc' | 'cpu', Run>;

const engine = () => (tf.getBackend() === 'cpu' ? 'tfjs' : 'acc');
let made = 0;

function variablesOf(shapes: HookCase['shapes']): tf.Variable[] {
  const id = made++;
  return shapes.map((shape, i) => tf.tidy(() => tf.variable(tf.zeros([...shape]), true, `case${id}/w${i}`)));
}

function hookOf(spec: HookSpec, hookCase: HookCase): CommHook {
  switch (spec.kind) {
    case 'fp16':
    case 'bf16':
      return castHook(spec.kind);
    case 'topK':
      return topKHook({ ratio: spec.ratio });
    case 'oneBit':
      return oneBitHook({ momentum: spec.momentum, warmupSteps: spec.warmupSteps });
    case 'powerSgd': {
      const hook = powerSgdHook(spec.options);
      if (spec.startsFromQ) hook.setState!({ shared: startingQs(hookCase, spec.options), local: {} });
      return hook;
    }
  }
}

/**
 * An Accelerator with the hook of a case, and the loss of each step, whose gradients are `number`s.
 */
async function opened(hookCase: HookCase) {
  const hook = hookOf(hookCase.hook, hookCase);
  const { bucketBytes } = hookCase;
  const accelerator = await Accelerator.create({
    engine: engine(),
    strategy: 'ddp',
    ddp: { commHook: hook, ...(bucketBytes && { bucketBytes }) },
  });
  const { processIndex: rank, numProcesses: size } = accelerator;
  const variables = variablesOf(hookCase.shapes);
  accelerator.prepare(variables);
  const loss = (step: number) => () => {
    const terms = variables.flatMap((variable, i) => {
      if (isUnused(hookCase, { rank, size, step, variable: i })) return [];
      return [tf.mul(variable, tf.tensor(numbers(rank, step, i, variable.size), variable.shape)).sum()];
    });
    return tf.addN(terms) as tf.Scalar;
  };
  return { hook, accelerator, variables, loss };
}

async function runHook(hookCase: HookCase, steps: number): Promise<HookRun> {
  const { hook, accelerator, variables, loss } = await opened(hookCase);
  const grads: Float32Array[][] = [];
  const states: CommHookState[] = [];
  for (let step = 0; step < steps; step++) {
    tf.tidy(() => {
      const found = accelerator.backward(loss(step), variables).grads;
      grads.push(variables.map(({ name }) => found[name]!.dataSync<'float32'>()));
    });
    if (hook.getState) states.push(hook.getState());
  }
  accelerator.freeMemory();
  tf.dispose(variables);
  return { grads, states };
}

async function runOneBitAdam(): Promise<Float32Array[][]> {
  const { accelerator, variables, loss } = await opened(ONE_BIT_ADAM_CASE);
  const optimizer = accelerator.prepare(oneBitAdam(ONE_BIT_ADAM));
  const weights: Float32Array[][] = [];
  for (let step = 0; step < STEPS; step++) {
    tf.tidy(() => void optimizer.minimize(loss(step), false, variables));
    weights.push(variables.map((variable) => variable.dataSync<'float32'>()));
  }
  accelerator.freeMemory();
  optimizer.dispose();
  tf.dispose(variables);
  return weights;
}

async function runLocal({
  kind,
  every,
}: {
  kind: 'localSgd' | 'diloco';
  every: number;
}): Promise<Float32Array[][]> {
  const accelerator = await Accelerator.create({ engine: engine(), strategy: 'ddp' });
  const rank = accelerator.processIndex;
  const variables = variablesOf(LOCAL.shapes);
  accelerator.prepare(variables);
  const optimizer = accelerator.prepare(sgdw({ learningRate: LOCAL.rate, momentum: LOCAL.momentum }));
  const meeting =
    kind === 'localSgd'
      ? new LocalSGD(accelerator, variables, { localSgdSteps: every })
      : new DiLoCo(accelerator, variables, { innerSteps: every });
  const weights: Float32Array[][] = [];
  const read = () => weights.push(variables.map((variable) => variable.dataSync<'float32'>()));
  for (let step = 0; step < LOCAL.steps; step++) {
    tf.tidy(() => {
      const distances = () =>
        variables.map((variable, i) =>
          tf
            .sub(variable, tf.tensor(numbers(rank, step, i, variable.size), variable.shape))
            .square()
            .sum(),
        );
      optimizer.minimize(() => tf.addN(distances()).mul(0.5) as tf.Scalar, false, variables);
    });
    meeting.step();
    read();
  }
  meeting.end();
  read();
  accelerator.freeMemory();
  optimizer.dispose();
  tf.dispose(variables);
  return weights;
}

async function runAll(): Promise<Run> {
  const before = tf.memory().numTensors;
  const hooks: Record<string, HookRun> = {};
  for (const [name, hookCase] of Object.entries(HOOK_CASES)) hooks[name] = await runHook(hookCase, STEPS);
  const cast = await runHook({ shapes: PYTORCH_CAST.shapes, hook: { kind: 'fp16' }, buckets: [[0]] }, 1);
  const local: Record<string, Float32Array[][]> = {};
  for (const [name, localCase] of Object.entries(LOCAL_CASES)) local[name] = await runLocal(localCase);
  const ofOneBitAdam = await runOneBitAdam();
  const accelerator = await Accelerator.create({ engine: engine(), strategy: 'ddp' });
  const ofAliases = aliases(accelerator);
  accelerator.freeMemory();
  const leaked = tf.memory().numTensors - before;
  return { hooks, cast: cast.grads[0]![0]!, local, oneBitAdam: ofOneBitAdam, aliases: ofAliases, leaked };
}

export default async function values(): Promise<Report> {
  const ofAcc = await runAll();
  await tf.setBackend('cpu');
  const report = { acc: ofAcc, cpu: await runAll() };
  await tf.setBackend('acc');
  return report;
}
