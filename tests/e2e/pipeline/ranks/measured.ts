// Cuts models by measured costs. Returns the layers whose weights this rank has.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { memoryStats } from '@acc/native';
import { disposeOptimizers } from '../../dispose-optimizers.js';
import { meanSquares } from './models.js';

export interface Cut {
  readonly held: string[];
  /** The tensors and the bytes of native memory that the cut has added. */
  readonly kept: [tensors: number, bytes: number];
}

export interface Measured {
  readonly cuts: Record<string, CutTwice>;
  /** The error of a model that runs on no measured batch. */
  readonly refusal: string;
}

export interface CutTwice {
  readonly measured: Cut;
  /** The same cut, named. */
  readonly named: Cut;
}

const NARROW = 8;
const dense = (name: string, units: number) => tf.layers.dense({ name, units });
const narrow = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, i) => dense(`narrow${from + i}`, NARROW));

/** Throws where dim 1 is longer than it is for, as a table of positions does. */
class AtMost extends tf.layers.Layer {
  static readonly className = 'AtMost';

  constructor(private readonly most: number) {
    super({ name: 'atMost' });
  }

  override call(inputs: tf.Tensor | tf.Tensor[]): tf.Tensor {
    const [x] = [inputs].flat() as [tf.Tensor];
    if (x.shape[1]! > this.most) throw new Error(`more than ${this.most} positions`);
    return x.clone();
  }
}

/** Products of rows with the wide layer take 50 times those of the others together. */
const MODELS: Record<string, () => tf.layers.Layer[]> = {
  'expensive at the end': () => [...narrow(0, 8), dense('up', 512), dense('wide', 512), dense('down', 2)],
  'expensive at the beginning': () => [dense('up', 512), dense('wide', 512), ...narrow(0, 9)],
  'limited open dims': () => [
    ...[new AtMost(16), ...narrow(0, 8)],
    ...[dense('up', 512), dense('wide', 512), dense('down', 2)],
  ],
  // The mask ends at the last recurrent layer, so the cut follows it. Its result is one tensor twice.
  masks: () => [
    tf.layers.masking({ name: 'masked' }),
    tf.layers.lstm({ name: 'wide1', units: 64, returnSequences: true }),
    tf.layers.lstm({ name: 'wide2', units: 64, returnState: true }),
    ...[dense('narrow', NARROW), dense('down', 2)],
  ],
};
const WITHOUT_WEIGHTS = ['atMost', 'masked'];

/** The names of those that have weights. */
const namesOf = (layers: tf.layers.Layer[]) =>
  layers.map(({ name }) => name).filter((name) => !WITHOUT_WEIGHTS.includes(name));

async function cut(layers: tf.layers.Layer[], stages?: string[][]): Promise<Cut> {
  const accelerator = await Accelerator.create({ engine: 'acc', mesh: { pipeline: 2 } });
  const optimizer = tf.train.momentum(0.01, 0.9);
  try {
    return await cutBy(accelerator, optimizer, layers, stages);
  } finally {
    accelerator.freeMemory();
    disposeOptimizers(optimizer);
    tf.disposeVariables();
  }
}

async function cutBy(
  accelerator: Accelerator,
  optimizer: tf.Optimizer,
  layers: tf.layers.Layer[],
  stages: string[][] | undefined,
): Promise<Cut> {
  const input = tf.input({ shape: [null, NARROW] });
  const output = layers.reduce((value, layer) => [layer.apply(value)].flat()[0] as tf.SymbolicTensor, input);
  const model = tf.model({ inputs: input, outputs: output });
  accelerator.prepare(model, optimizer);
  const [tensors, bytes] = [tf.memory().numTensors, memoryStats().allocatedBytes];
  const step = accelerator.pipelined(model, meanSquares, { stages });
  const kept: Cut['kept'] = [tf.memory().numTensors - tensors, memoryStats().allocatedBytes - bytes];
  const [xs, ys] = [tf.ones([4, 3, NARROW]), tf.zeros(output.shape.map((size, i) => size ?? [4, 3][i]!))];
  tf.dispose([step(xs, ys), xs, ys]);
  // The optimizer has state of the weights that this rank has.
  const state = (await optimizer.getWeights()).filter(({ tensor }) => tensor.size > 1);
  const held = new Set(state.map(({ name }) => name.split('/')[0]!));
  return { held: namesOf(layers).filter((name) => held.has(name)), kept };
}

export default async function measured(): Promise<Measured> {
  const cuts: Record<string, CutTwice> = {};
  for (const [name, make] of Object.entries(MODELS)) {
    const all = namesOf(make());
    const measured = await cut(make());
    const rest = all.filter((layer) => !measured.held.includes(layer));
    const [first, last] = measured.held[0] === all[0] ? [measured.held, rest] : [rest, measured.held];
    const [{ name: head } = { name: '' }] = make();
    const stages = [WITHOUT_WEIGHTS.includes(head) ? [head, ...first] : first, last];
    cuts[name] = { measured, named: await cut(make(), stages) };
  }
  const refusal = await cut([new AtMost(1), ...narrow(0, 2)]).then(
    () => 'none',
    (error: Error & { code: string }) => `${error.code}: ${error.message}`,
  );
  return { cuts, refusal };
}
