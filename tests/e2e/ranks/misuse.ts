// Makes several mistakes, each with a new Accelerator, and reports the code and message of each
// error. Arguments: the engine, and the mistakes.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, type AccError, type AcceleratorOptions } from '@acc/core';
import { reportResult } from '@acc/testkit';

const [engine, ...chosen] = process.argv.slice(2) as ['auto' | 'gloo', ...string[]];
const create = (options: AcceleratorOptions = {}) =>
  Accelerator.create({ collective: { engine }, ...options });
let accelerator = await create();
const r = accelerator.processIndex;
const dense = (units: number) => tf.sequential({ layers: [tf.layers.dense({ units, inputShape: [2] })] });

const createAgain = async (options: AcceleratorOptions) => {
  accelerator.freeMemory();
  return (accelerator = await create(options));
};

const mistakes: Record<string, () => unknown> = {
  shape: () => accelerator.reduce(tf.ones([2 + r])),
  dtype: () => accelerator.reduce(tf.ones([2], r === 0 ? 'float32' : 'int32')),
  empty: () => accelerator.reduce(tf.zeros([2 * r])),
  operation: () => accelerator.reduce(tf.ones([2]), 'avg' as 'sum'),
  // The message must name the method that the user called, not the collective.
  onlyMain: () => (r === 0 ? accelerator.saveState() : accelerator.waitForEveryone()),
  roots: () => accelerator.broadcast(tf.ones([2]), r),
  collective: () => (r === 0 ? accelerator.gather(tf.ones([2])) : accelerator.waitForEveryone()),
  variables: () => accelerator.prepare(dense(3 + r)),
  fewerVariables: () =>
    accelerator.prepare(
      r === 0
        ? [tf.variable(tf.scalar(1), true, 'a')]
        : [tf.variable(tf.scalar(1), true, 'a'), tf.variable(tf.scalar(1), true, 'b')],
    ),
  object: () => accelerator.prepare({ learningRate: 0.1 }),
  notBuilt: () => accelerator.prepare(tf.sequential()),
  leaf: () => accelerator.gather({ a: 3 as unknown as tf.Tensor }),
  options: () => createAgain({ ddp: { bucketBytes: 1000 + r } }),
  hooks: () => createAgain({ ddp: { commHook: r === 0 ? { name: 'topK', ratio: 0.5 } : 'topK' } }),
  strategies: () => createAgain({ strategy: r === 0 ? 'ddp' : 'single' }),
  unused: async () => {
    const again = await createAgain({ ddp: { findUnused: false } });
    const [a, b] = ['a', 'b'].map((name) => tf.variable(tf.scalar(1), true, name)) as [
      tf.Variable,
      tf.Variable,
    ];
    again.prepare([a, b]);
    tf.variableGrads(() => (r === 0 ? a.add(b) : a) as tf.Scalar, [a, b]);
  },
  strings: () => accelerator.gather(tf.tensor1d(['a'])),
};

const errors: Record<string, { code: string; message: string }> = {};
for (const [i, mistake] of chosen.entries()) {
  if (i > 0) accelerator = await create();
  try {
    await mistakes[mistake]!();
    errors[mistake] = { code: 'none', message: '' };
  } catch (error) {
    const { code, message } = error as AccError;
    errors[mistake] = { code, message };
  }
  accelerator.freeMemory();
  tf.disposeVariables();
}
reportResult(errors);
