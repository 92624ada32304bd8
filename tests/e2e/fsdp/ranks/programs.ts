// What programs do beside `minimize`, by ddp and by fsdp: gradients of their own, new weights, mistakes; and memory at rest.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, isAccError, lamb, type AcceleratorOptions } from '@acc/core';
import { memoryStats } from '@acc/native';
import { reportResult } from '@acc/testkit';

type FsdpOptions = NonNullable<AcceleratorOptions['fsdp']>;

const WAYS = {
  ddp: undefined,
  stage2: { stage: 2 },
  stage3: { bucketBytes: 1 },
} satisfies Record<string, FsdpOptions | undefined>;
export type Way = keyof typeof WAYS;

export interface Result {
  /** By name: gradients, norms and weights that must be those of ddp. */
  readonly values: Record<Way, Record<string, number[]>>;
  readonly codes: Record<string, string>;
  readonly leaked: Record<Way, number>;
  /** Bytes of parameters and of Adam's state at rest, by stage, for `parameters` float32 elements. */
  readonly restingBytes: Record<Way, number>;
  readonly parameters: number;
}

const createFor = (way: Way) => {
  const options = WAYS[way] as FsdpOptions | undefined;
  return Accelerator.create({ ...(options && { strategy: 'fsdp', fsdp: options }) });
};
const values = (shape: number[], seed: number) =>
  tf.tidy(() =>
    tf
      .sin(
        tf
          .range(
            0,
            shape.reduce((a, b) => a * b),
          )
          .add(seed),
      )
      .reshape(shape),
  );
const numbers = (tensors: readonly tf.Tensor[]) => tensors.flatMap((tensor) => [...tensor.dataSync()]);

async function programs(way: Way): Promise<{ values: Record<string, number[]>; leaked: number }> {
  const accelerator = await createFor(way);
  const { processIndex: rank } = accelerator;
  const w = tf.variable(values([5, 3], 1) as tf.Tensor2D, true, 'w');
  const b = tf.variable(values([3], 2), true, 'b');
  // A variable without dims, and one that is not trained, stay whole.
  const scale = tf.variable(tf.scalar(0.5), true, 'scale');
  const frozen = tf.variable(values([3], 3), false, 'frozen');
  const variables = [w, b, scale];
  const optimizer = tf.train.adam(0.1);
  accelerator.prepare([...variables, frozen], optimizer);
  const x = values([4, 5], 10 * rank) as tf.Tensor2D;
  const loss = () => {
    const y = tf.add(tf.add(tf.matMul(x, w), b), frozen).mul(scale);
    return y.sub(1).square().mean() as tf.Scalar;
  };
  const found: Record<string, number[]> = {};
  const list = (grads: tf.NamedTensorMap) => variables.map(({ name }) => grads[name]!);
  function train(step: number): void {
    tf.tidy(() => {
      const { grads } = accelerator.backward(loss, variables);
      found[`gradients ${step}`] = numbers(list(grads));
      found[`norm ${step}`] = [accelerator.clipGradNorm(grads, 0.3)];
      found[`clipped ${step}`] = numbers(list(grads));
      optimizer.applyGradients(grads as never);
    });
    tf.tidy(() => {
      const { grads } = tf.variableGrads(loss, variables);
      const halves = Object.fromEntries(Object.entries(grads).map(([name, grad]) => [name, grad.mul(0.5)]));
      optimizer.applyGradients(halves);
    });
    // Every rank gives a variable the same new values.
    tf.tidy(() => b.assign(b.add(w.sum(0).mul(0.1))));
    found[`weights ${step}`] = numbers([...variables, frozen]);
  }
  train(0);
  const before = tf.memory().numTensors;
  for (let step = 1; step < 3; step++) train(step);
  const leaked = tf.memory().numTensors - before;
  accelerator.freeMemory(...variables, frozen, optimizer);
  x.dispose();
  return { values: found, leaked };
}

async function codes(): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  async function attempt(name: string, act: () => unknown): Promise<void> {
    try {
      await act();
      found[name] = 'none';
    } catch (error) {
      found[name] = isAccError(error) ? error.code : String(error);
    }
  }
  const accelerator = await createFor('stage3');
  const { processIndex: rank } = accelerator;
  const w = tf.variable(values([4, 2], 0) as tf.Tensor2D, true, 'w');
  const optimizer = tf.train.sgd(0.1);
  accelerator.prepare([w], optimizer);
  const loss = () => tf.ones<tf.Rank.R2>([1, 4]).matMul(w).sum() as tf.Scalar;
  const clone = w.clone();
  optimizer.minimize(loss, false, [w]);
  await attempt('a clone from before the step', () => clone.dataSync());
  await attempt('lamb', () => accelerator.prepare(lamb()));
  await attempt('compile', () => accelerator.compile(() => undefined));
  await attempt('an optimizer in noSync', () =>
    accelerator.noSync(() => optimizer.minimize(loss, false, [w])),
  );
  await attempt('joinUnevenInputs', () => accelerator.joinUnevenInputs(() => Promise.resolve()));
  const kept = tf.variable(tf.ones([4]), true, 'kept');
  accelerator.prepare([kept]);
  accelerator.freeMemory(w, optimizer);
  await attempt('a read after freeMemory', () => kept.dataSync());
  kept.dispose();
  await attempt('options that differ', () =>
    Accelerator.create({ strategy: 'fsdp', fsdp: { limitAllGathers: rank === 0 } }),
  );
  const other = await Accelerator.create({
    strategy: 'fsdp',
    fsdp: { wrap: (layer) => rank === 1 && (layer as { name: string }).name === 'second' },
  });
  await attempt('units that differ', () => {
    const dense = (name: string) => tf.layers.dense({ units: 2, inputShape: [2], name });
    other.prepare(tf.sequential({ layers: [dense('first'), dense('second')] }));
  });
  other.freeMemory();
  await attempt('deterministic', () => Accelerator.create({ strategy: 'fsdp', deterministic: true }));
  return found;
}

const WIDTH = 256;

async function restingBytes(way: Way): Promise<number> {
  const before = memoryStats().allocatedBytes;
  const accelerator = await createFor(way);
  const layers = [0, 1, 2, 3].map((i) =>
    tf.tidy(() => tf.variable(values([WIDTH, WIDTH], i) as tf.Tensor2D, true, `layer${i}`)),
  );
  const optimizer = tf.train.adam(0.01);
  accelerator.prepare(layers, optimizer);
  for (let step = 0; step < 3; step++) {
    tf.tidy(() => {
      const loss = () => {
        const ones: tf.Tensor = tf.ones([2, WIDTH]);
        const x = layers.reduce((y, layer) => tf.tanh(tf.matMul(y, layer)), ones);
        return x.mean() as tf.Scalar;
      };
      optimizer.minimize(loss, false, layers);
    });
  }
  const bytes = memoryStats().allocatedBytes - before;
  accelerator.freeMemory(...layers, optimizer);
  return bytes;
}

const result = {
  values: {},
  leaked: {},
  restingBytes: {},
  parameters: 4 * WIDTH * WIDTH,
} as unknown as Result & {
  codes: Record<string, string>;
};
for (const way of Object.keys(WAYS) as Way[]) {
  const done = await programs(way);
  result.values[way] = done.values;
  result.leaked[way] = done.leaked;
  result.restingBytes[way] = await restingBytes(way);
}
result.codes = await codes();
reportResult(result);
const last = await Accelerator.create();
await last.endTraining();
