// Trains models, one after the other, with steps that are compiled or not. Returns the numbers of each, what
// a step sends, its peak memory, and what is left.
import * as tf from '@tensorflow/tfjs';
import {
  Accelerator,
  checkpoint,
  setSeed,
  type AcceleratorOptions,
  type CompileOptions,
  type CompiledStep,
} from '@acc/core';
import { liveTensors } from '@acc/native';
import type { Plugin } from '@acc/contract';
import { seededRandom } from '@acc/testkit';
import { gpt2 } from '@acc/transformer';

export interface Case {
  readonly model: 'mlp' | 'conv' | 'gpt2';
  readonly options?: AcceleratorOptions;
  /** Compiles the step with these options. */
  readonly compile?: CompileOptions;
  /** The ranks that compile the step. Default: all. */
  readonly ranks?: readonly number[];
  /** The step before which each rank begins to call the compiled one. Default: the first. */
  readonly from?: readonly number[];
  /** Of the first layer: it is not trained, or its activations are computed again in backward. */
  readonly first?: 'frozen' | 'checkpointed';
  readonly steps?: number;
  /** Whether a few batches are smaller. */
  readonly varies?: boolean;
  /** Reads the weights after each of these steps, and sets them after the last one. */
  readonly reads?: readonly number[];
  /** Saves the state to this folder after half of the steps, and begins there again at the end. */
  readonly folder?: string;
  /** A plugin throws in the backward pass of this step. */
  readonly failsIn?: number;
  /** The size of hidden layers. */
  readonly width?: number;
  /** A further result or effect of the step: see {@link stepOf}. */
  readonly way?: 'backward' | 'reads a gradient' | 'reads a weight' | 'predicts';
}

export interface Trained {
  readonly losses: readonly number[];
  readonly weights: readonly number[][];
  readonly read: readonly number[][];
  readonly sent: Record<string, { calls: number; bytes: number }>;
  readonly peakBytes: number;
  /** Bytes between steps. */
  readonly keptBytes: number;
  readonly replays: number;
  readonly reason: string | undefined;
  readonly explained: string;
  /** How many different numbers of tensors, and of native ones, were left after a step. */
  readonly left: number;
}

type Loss = (x: tf.Tensor, y: tf.Tensor) => tf.Scalar;

interface Model {
  readonly variables: readonly tf.Variable[];
  readonly loss: Loss;
  readonly objects: readonly object[];
  readonly xShape: readonly number[];
  readonly classes: number;
  readonly isTokens?: boolean;
}

const LENGTH = 8;
const VOCABULARY = 24;
const random = { next: seededRandom(7) };
const drawn = (shape: readonly number[]) =>
  tf.tensor(
    Array.from({ length: tf.util.sizeFromShape([...shape]) }, () => 0.6 * random.next() - 0.3),
    [...shape],
  );

/** A program with plain variables, one of which is used twice, and one by no loss. */
function mlp({ first, width = 12 }: Case): Model {
  const variable = (shape: number[], isTrained = true) => tf.tidy(() => tf.variable(drawn(shape), isTrained));
  const isTrained = first !== 'frozen';
  const [w1, b1] = [variable([6, width], isTrained), variable([width], isTrained)];
  const [shared, w2, b2] = [variable([width, width]), variable([width, 5]), variable([5])];
  const unused = variable([3]);
  const hidden = (x: tf.Tensor) =>
    tf.tanh(
      tf.matMul(
        tf.tanh(tf.add(tf.matMul(x as tf.Tensor2D, w1 as tf.Tensor2D), b1)) as tf.Tensor2D,
        shared as tf.Tensor2D,
      ),
    );
  const output = (x: tf.Tensor) =>
    tf.add(tf.matMul(tf.matMul(x as tf.Tensor2D, shared as tf.Tensor2D, false, true), w2 as tf.Tensor2D), b2);
  const through = (x: tf.Tensor) => (first === 'checkpointed' ? checkpoint(hidden, [x]) : hidden(x));
  return {
    variables: [w1, b1, shared, w2, b2, unused],
    objects: [[w1, b1, shared, w2, b2, unused]],
    loss: (x, y) => tf.losses.softmaxCrossEntropy(y, output(through(x))) as tf.Scalar,
    xShape: [6],
    classes: 5,
  };
}

function layers(model: tf.LayersModel, about: Pick<Model, 'xShape' | 'classes' | 'isTokens'>): Model {
  for (const weight of model.weights) {
    const variable = weight.read();
    if (variable.rank > 1) tf.tidy(() => void weight.write(drawn(variable.shape)));
  }
  return {
    ...about,
    variables: model.weights.map((weight) => weight.read() as tf.Variable),
    objects: [model],
    loss: (x, y) => {
      const logits = model.apply(x, { training: true }) as tf.Tensor;
      return tf.losses.softmaxCrossEntropy(
        tf.reshape(y, [-1, about.classes]),
        tf.reshape(logits, [-1, about.classes]),
      ) as tf.Scalar;
    },
  };
}

function made(given: Case): Model {
  random.next = seededRandom(7);
  if (given.model === 'mlp') return mlp(given);
  if (given.model === 'gpt2') {
    const { width = 24 } = given;
    const sizes = { n_positions: LENGTH, n_embd: width, n_layer: 2, n_head: 4 };
    const dropouts = { resid_pdrop: 0.1, embd_pdrop: 0, attn_pdrop: 0 };
    const model = gpt2({ vocab_size: VOCABULARY, ...sizes, ...dropouts });
    return layers(model, { xShape: [LENGTH], classes: VOCABULARY, isTokens: true });
  }
  const model = tf.sequential({
    layers: [
      tf.layers.conv2d({
        filters: 6,
        kernelSize: 3,
        inputShape: [8, 8, 2],
        trainable: given.first !== 'frozen',
      }),
      tf.layers.batchNormalization(),
      tf.layers.reLU(),
      tf.layers.flatten(),
      tf.layers.dense({ units: 5 }),
    ],
  });
  return layers(model, { xShape: [8, 8, 2], classes: 5 });
}

function batchOf(model: Model, rows: number, step: number, rank: number): [tf.Tensor, tf.Tensor] {
  return tf.tidy(() => {
    const shape = [rows, ...model.xShape];
    const at = (length: number) => tf.add(tf.range(0, length), 37 * step + 1000 * rank);
    const wave = tf.reshape(tf.sin(at(tf.util.sizeFromShape(shape))), shape);
    const x = model.isTokens ? tf.cast(tf.mul(tf.abs(wave), VOCABULARY - 1), 'int32') : wave;
    const labels = model.isTokens ? rows * LENGTH : rows;
    const classes = tf.cast(tf.mod(tf.mul(at(labels), 7), model.classes), 'int32') as tf.Tensor1D;
    return [x, tf.oneHot(classes, model.classes).toFloat()];
  });
}

type Step = (x: tf.Tensor, y: tf.Tensor) => { loss: tf.Scalar; more?: tf.Tensor };

function stepOf(accelerator: Accelerator, model: Model, optimizer: tf.Optimizer, way: Case['way']): Step {
  const trained = model.variables.filter(({ trainable }) => trainable);
  if (way === undefined)
    return (x, y) => ({ loss: optimizer.minimize(() => model.loss(x, y), true, trained)! });
  if (way === 'reads a weight')
    return (x, y) => {
      const loss = optimizer.minimize(() => model.loss(x, y), true, trained)!;
      return { loss, more: tf.sum(trained[0]!) };
    };
  if (way === 'predicts')
    return (x, y) => {
      const before = model.loss(x, y);
      return { loss: optimizer.minimize(() => model.loss(x, y), true, trained)!, more: before };
    };
  return (x, y) => {
    const { value, grads } = accelerator.backward(() => model.loss(x, y), trained);
    const more = way === 'backward' ? {} : { more: tf.sum(grads[trained[0]!.name]!) };
    optimizer.applyGradients(grads);
    return { loss: value, ...more };
  };
}

const FAILURE = 'the plugin of the test';
const elements = (x: tf.Tensor) => Array.from(x.dataSync());
const peak = () => (tf.memory() as unknown as { peakAllocatedBytes: number }).peakAllocatedBytes;
const kept = () => (tf.memory() as unknown as { allocatedBytes: number }).allocatedBytes;

interface Run {
  readonly accelerator: Accelerator;
  readonly model: Model;
  readonly take: Step;
  readonly compiled: CompiledStep<[x: tf.Tensor, y: tf.Tensor], ReturnType<Step>> | undefined;
  readonly given: Case;
}

const rows = (size: number, isSmall: boolean): number => (isSmall ? 6 : 12) / size;

function takeSteps({ accelerator, model, take, compiled, given }: Run, first: number, end: number) {
  const { processIndex: rank, numProcesses: size } = accelerator;
  const losses: number[] = [];
  const read: number[][] = [];
  const left = new Set<string>();
  let sent: Trained['sent'] = {};
  let peakBytes = 0;
  for (let i = first; i < end; i++) {
    const step = compiled && i >= (given.from?.[rank] ?? 0) ? compiled : take;
    const [x, y] = batchOf(model, rows(size, given.varies === true && i % 4 === 3), i, rank);
    accelerator.communication();
    accelerator.resetPeakMemory();
    const { loss, more } = taken(() => tf.tidy(() => accelerator.accumulate(() => step(x, y))));
    sent = accelerator.communication();
    peakBytes = peak();
    losses.push(...elements(loss), ...(more ? elements(more) : []));
    tf.dispose([x, y, loss, more ?? []]);
    if (given.reads?.includes(i)) read.push(...model.variables.map(elements));
    if (given.reads?.at(-1) === i)
      for (const each of model.variables) tf.tidy(() => void each.assign(tf.mul(each, 0.5)));
    if (i - first > 5) left.add([tf.memory().numTensors, liveTensors()].join());
  }
  return { losses, read, left, sent, peakBytes };
}

const broken = (): ReturnType<Step> => ({ loss: tf.scalar(NaN) });

function taken(step: () => ReturnType<Step>): ReturnType<Step> {
  try {
    return step();
  } catch (error) {
    if ((error as Error).message !== FAILURE) throw error;
    return broken();
  }
}

/** Throws when a few gradients of a step are there. */
function failing(failsIn: number): Plugin {
  let steps = 0;
  let ready = 0;
  return {
    name: 'failing',
    loss: () => {
      steps++;
      ready = 0;
    },
    ready: () => {
      if (steps === failsIn + 1 && ++ready === 3) throw new Error(FAILURE);
    },
  };
}

async function train(given: Case): Promise<Trained> {
  const { steps = 8, compile, ranks, failsIn } = given;
  const plugins = failsIn === undefined ? [] : [failing(failsIn)];
  const accelerator = await Accelerator.create({ plugins, ...given.options });
  setSeed(3);
  const model = made(given);
  const optimizer = tf.train.adam(0.01, 0.9, 0.99, 1e-2);
  accelerator.prepare(...model.objects, optimizer);
  const take = stepOf(accelerator, model, optimizer, given.way);
  const isCompiled = compile && (ranks?.includes(accelerator.processIndex) ?? true);
  const compiled = isCompiled ? accelerator.compile(take, compile) : undefined;
  const run = { accelerator, model, take, compiled, given };
  const found = takeSteps(run, 0, steps);
  const keptBytes = kept();
  if (given.folder !== undefined) {
    await accelerator.saveState(given.folder);
    found.losses.push(...takeSteps(run, steps, steps + 4).losses);
    await accelerator.loadState(given.folder);
    found.losses.push(...takeSteps(run, steps, steps + 4).losses);
  }
  const weights = model.variables.map(elements);
  const explained = compiled?.explain() ?? '';
  const { replays = 0, reason } = compiled ?? {};
  accelerator.freeMemory();
  tf.disposeVariables();
  return { ...found, left: found.left.size, weights, keptBytes, replays, reason, explained };
}

export default async function compiled(cases: readonly Case[]): Promise<Trained[]> {
  const results: Trained[] = [];
  for (const given of cases) results.push(await train(given));
  return results;
}
