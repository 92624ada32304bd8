// Calls every collective through the Accelerator and reports the results.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const accelerator = await Accelerator.create();
const r = accelerator.processIndex;
const read = (x: tf.Tensor) => ({ values: [...x.dataSync()], shape: x.shape, dtype: x.dtype as string });
const before = tf.memory().numTensors;

const found = tf.tidy(() => ({
  gather: read(accelerator.gather(tf.tensor2d([[r, r + 0.5]]))),
  gatherScalar: read(accelerator.gather(tf.scalar(r))),
  gatherUneven: read(accelerator.gather(tf.fill([r, 2], r, 'int32'))),
  gatherBool: read(accelerator.gather(tf.tensor1d([r === 0, true], 'bool'))),
  gatherNested: (() => {
    const { a, b } = accelerator.gather({ b: [tf.tensor1d([r])], a: tf.tensor1d([10 * r]) });
    return [read(a), read(b[0]!)];
  })(),
  sum: read(accelerator.reduce(tf.tensor1d([1, r]), 'sum')),
  mean: read(accelerator.reduce(tf.tensor1d([1, r]), 'mean')),
  max: read(accelerator.reduce(tf.tensor1d([1, r], 'int32'), 'max')),
  min: read(accelerator.reduce(tf.tensor1d([1, r]), 'min')),
  bools: (['sum', 'product', 'mean', 'max'] as const).map((op) =>
    read(accelerator.reduce(tf.tensor1d([true, r === 0], 'bool'), op)),
  ),
  product: read(accelerator.reduce(tf.tensor1d([2, r + 1]), 'product')),
  scaled: read(accelerator.reduce(tf.tensor1d([1, r]), 'sum', 10)),
  // A transposed view is not contiguous.
  view: read(
    accelerator.gather(
      tf
        .tensor2d([
          [1, 2, 3],
          [4, 5, 6],
        ])
        .transpose(),
    ),
  ),
  broadcast: read(accelerator.broadcast(tf.tensor1d([r + 1, 5]), accelerator.numProcesses - 1)),
}));
const objects = {
  gathered: accelerator.gatherObject([{ rank: r, data: Float32Array.of(r) }]),
  fromLast: accelerator.broadcastObject({ rank: r }, accelerator.numProcesses - 1),
};
/** A record whose keys are in a different order on every other rank. */
const ordered = <T>(a: T, b: T): Record<string, T> => (r % 2 === 0 ? { b, a } : { a, b });
const records = tf.tidy(() => {
  const given = ordered(tf.tensor1d([r, 10]), tf.tensor1d([100 * r, 1000]));
  const padded = ordered(tf.fill([r + 1], r), tf.fill([2 * r + 1], 10 * r));
  const verbs = {
    gather: accelerator.gather(given),
    gatherForMetrics: accelerator.gatherForMetrics(given),
    reduce: accelerator.reduce(given, 'max', 2),
    broadcast: accelerator.broadcast(given, accelerator.numProcesses - 1),
    pad: accelerator.padAcrossProcesses(padded, { padIndex: -1 }),
    nested: accelerator.reduce({ z: [given], y: tf.scalar(r) }).z[0]!,
  };
  const plain = (record: Record<string, tf.Tensor>) =>
    Object.entries(record).map(([key, x]) => [key, ...x.dataSync()]);
  return Object.fromEntries(Object.entries(verbs).map(([verb, record]) => [verb, plain(record)]));
});
const given = {
  rows: tf.tensor1d([r, r + 0.5]),
  ids: [`a${r}`, { of: r }],
  typed: Float32Array.of(r, r + 0.25),
  name: `rank ${r}`,
  pair: [tf.scalar(r), [null, true]],
};
const gathered = accelerator.gatherForMetrics(given);
const [scalars, list] = gathered.pair as [tf.Tensor, unknown[]];
const others = { ...gathered, rows: [...gathered.rows.dataSync()], pair: [[...scalars.dataSync()], list] };
tf.dispose([given.rows, given.pair[0] as tf.Tensor, gathered.rows, scalars]);
const codeOf = (call: () => unknown) => {
  try {
    call();
    return 'none';
  } catch (error) {
    return (error as { code?: string }).code;
  }
};
const differing = tf.tidy(() => [
  codeOf(() => accelerator.gather(r === 0 ? { a: tf.scalar(r) } : { b: tf.scalar(r) })),
  codeOf(() => accelerator.gatherForMetrics({ when: new Date(0) })),
]);
accelerator.waitForEveryone();
const main = accelerator.onMainProcess((x: number) => x + 1)(1);
const last = accelerator.onLastProcess(() => 'last')();
accelerator.print('printed once');
const order: string[] = await accelerator.mainProcessFirst(() => [`rank ${r}`]);
const leaked = tf.memory().numTensors - before;

// Another Accelerator on the same group, and none after the job was left.
accelerator.freeMemory();
const again = await Accelerator.create({ seed: 1 });
const gatheredAgain = again.gatherObject([r]);
await again.endTraining();
const afterEnd = await Accelerator.create().then(
  () => 'created',
  (error: { code: string }) => error.code,
);
reportResult({
  found,
  objects,
  records,
  others,
  differing,
  main,
  last,
  order,
  leaked,
  gatheredAgain,
  afterEnd,
});
