// Counts native bytes of sharded programs: in passes, in predictions, and between steps.
import { setTimeout } from 'node:timers/promises';
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AcceleratorOptions } from '@acc/core';
import { memoryStats, resetPeakMemory } from '@acc/native';
import { engineInternals } from '@acc/tfjs-internals';
import { disposeOptimizers } from '../../dispose-optimizers.js';

/** Bytes over those between steps, in units of one variable. */
export interface Peaks {
  readonly step: number;
  /** While the loss was computed with gradients. */
  readonly forward: number;
  /** While the loss was computed without. */
  readonly prediction: number;
  readonly afterPrediction: number;
}

export interface Memory {
  /** One operator for each variable. */
  readonly oneByOne: Peaks;
  /** One operator for two variables. */
  readonly pairs: Peaks;
  /** By stage: bytes a parameter, of a program that disposes no tensor that variables were made from. */
  readonly plain: Record<2 | 3, { readonly resting: number; readonly withGradients: number }>;
  /** By stage: bytes after `freeMemory`, of a program whose second backward pass has failed. */
  readonly afterFailure: Record<1 | 3, number>;
  readonly losses: Record<string, readonly number[]>;
}

const COUNT = 6;
const WIDTH = 256;
const SIZE = WIDTH * WIDTH;
const UNIT = 4 * SIZE;

const engine = engineInternals();

type FsdpOptions = NonNullable<AcceleratorOptions['fsdp']>;
type Loss = () => tf.Scalar;
type Shape = [number, number];
/** Values that keep the sizes of activations, so that the rounding of one operator stays as small as it is. */
const initial = (i: number, shape: Shape) =>
  tf.tidy(() => tf.randomUniform([SIZE], -0.1, 0.1, 'float32', i + 1).reshape(shape));
const allocated = () => memoryStats().allocatedBytes;
const peak = () => memoryStats().peakAllocatedBytes;

/** Frees what the program has dropped. Finalizers run between tasks. */
async function collect(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) {
    globalThis.gc!();
    await setTimeout(0);
  }
}

async function prepared(fsdp: FsdpOptions, shapes: readonly Shape[]) {
  const accelerator = await Accelerator.create({ strategy: 'fsdp', fsdp });
  const start = allocated();
  // In the module's scope tensors would live until its end.
  engine.endScope();
  const given = shapes.map((shape, i) => initial(i, shape));
  engine.startScope('module');
  const variables = given.map((values) => tf.variable(values, true));
  const isAlone = accelerator.numProcesses === 1;
  if (isAlone) tf.dispose(given);
  const optimizer = tf.train.adam(0.001);
  accelerator.prepare(variables, optimizer);
  const end = () => {
    accelerator.freeMemory(...variables, optimizer);
    disposeOptimizers(optimizer);
    tf.dispose(variables);
    // tfjs goes on to count tensors that were collected.
    if (!isAlone) (engine.state as { numTensors: number }).numTensors -= shapes.length;
  };
  return { variables, optimizer, start, end };
}

const chainOf =
  (variables: readonly tf.Variable[]): Loss =>
  () => {
    const x: tf.Tensor = tf.linspace(-1, 1, 2 * WIDTH).reshape([2, WIDTH]);
    return variables
      .reduce((y, w) => tf.tanh(tf.matMul(y, w as tf.Tensor)), x)
      .square()
      .mean();
  };

const pairsOf =
  (variables: readonly tf.Variable[]): Loss =>
  () =>
    tf.addN([0, 2, 4].map((i) => tf.matMul(variables[i] as tf.Tensor, variables[i + 1] as tf.Tensor))).sum();

async function peaks(shapes: readonly Shape[], lossOf: (variables: readonly tf.Variable[]) => Loss) {
  const { variables, optimizer, end } = await prepared({ wrap: { minParams: 1 } }, shapes);
  const losses: number[] = [];
  let forward = 0;
  const loss = lossOf(variables);
  const step = () => {
    const observed = () => {
      const value = loss();
      forward = peak();
      return value;
    };
    tf.tidy(() => losses.push(...optimizer.minimize(observed, true, variables)!.dataSync()));
  };
  for (let i = 0; i < 3; i++) step();
  await collect();
  const resting = allocated();
  const over = (bytes: number) => (bytes - resting) / UNIT;
  resetPeakMemory();
  step();
  const found = { step: over(peak()), forward: over(forward) };
  resetPeakMemory();
  losses.push(tf.tidy(() => loss().dataSync()[0]!));
  const prediction = over(peak());
  const afterPrediction = over(allocated());
  step();
  end();
  return { losses, peaks: { ...found, prediction, afterPrediction } };
}

async function plain(stage: 2 | 3) {
  const shapes = Array.from({ length: COUNT }, (): Shape => [WIDTH, WIDTH]);
  const { variables, optimizer, start, end } = await prepared({ stage, wrap: { minParams: SIZE } }, shapes);
  const loss = chainOf(variables);
  const each = (bytes: number) => (bytes - start) / (COUNT * SIZE);
  const losses: number[] = [];
  let withGradients = 0;
  for (let i = 0; i < 3; i++) {
    await collect();
    const { value, grads } = tf.variableGrads(loss, variables);
    losses.push(...value.dataSync());
    withGradients = each(allocated());
    optimizer.applyGradients(grads as never);
    tf.dispose([value, grads]);
  }
  const resting = each(allocated());
  end();
  return { losses, bytes: { resting, withGradients } };
}

/** Fails when the gradients of two units are on their way or there. */
async function failing(stage: 1 | 3): Promise<number> {
  const start = allocated();
  let ready = 0;
  const plugin = {
    name: 'failing',
    ready() {
      if (++ready === COUNT + 3) throw new Error('of the test');
    },
  };
  const fsdp: FsdpOptions = { stage, wrap: { minParams: 1 } };
  const accelerator = await Accelerator.create({ strategy: 'fsdp', fsdp, plugins: [plugin] });
  const variables = Array.from({ length: COUNT }, (_, i) =>
    tf.tidy(() => tf.variable(initial(i, [WIDTH, WIDTH]))),
  );
  const optimizer = tf.train.sgd(0.001);
  accelerator.prepare(variables, optimizer);
  const step = () => tf.tidy(() => void optimizer.minimize(chainOf(variables), false, variables));
  step();
  try {
    step();
    throw new Error('The pass did not fail.');
  } catch (error) {
    if ((error as Error).message !== 'of the test') throw error;
  }
  accelerator.freeMemory(...variables, optimizer);
  optimizer.dispose();
  tf.dispose(variables);
  return allocated() - start;
}

export default async function memory(): Promise<Memory> {
  const squares = Array.from({ length: COUNT }, (): Shape => [WIDTH, WIDTH]);
  const vectors = squares.map((_, i): Shape => (i % 2 === 0 ? [1, SIZE] : [SIZE, 1]));
  const oneByOne = await peaks(squares, chainOf);
  const pairs = await peaks(vectors, pairsOf);
  const [stage2, stage3] = [await plain(2), await plain(3)];
  const afterFailure = { 1: await failing(1), 3: await failing(3) };
  tf.disposeVariables();
  return {
    oneByOne: oneByOne.peaks,
    pairs: pairs.peaks,
    plain: { 2: stage2.bytes, 3: stage3.bytes },
    afterFailure,
    losses: {
      oneByOne: oneByOne.losses,
      pairs: pairs.losses,
      stage2: stage2.losses,
      stage3: stage3.losses,
    },
  };
}
