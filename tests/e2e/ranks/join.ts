// Ranks with different numbers of steps train within joinUnevenInputs, then some steps together,
// next to the same computation on one process. A run is the steps of each rank and the communication
// hook, for example 2,5:none (none | bf16 | powerSgd | topK | oneBit | shards). `shards` sums plainly,
// and compares the collectives with shards with that sum. Reports by run.
import * as tf from '@tensorflow/tfjs';
import { Accelerator, DataLoader, type CommHook, type CommHookName, type NamedCommHook } from '@acc/core';
import { prepareQat } from '@acc/quantization';
import { disposeOptimizers } from '../dispose-optimizers.js';

const WITH_ALL = 2;

/**
 * For the hook `shards`: the collectives with a different result, and the ranks that took part in
 * each gather.
 */
interface Shards {
  readonly wrong: string[];
  readonly gathered: number[][];
}

const comparing = (shards: Shards): CommHook => ({
  name: 'shards',
  reduce({ gradsLocal, collective }) {
    const { rank, size } = collective;
    const sum = collective.allReduceAsync(gradsLocal);
    tf.tidy(() => {
      const whole = tf.pad1d(gradsLocal as tf.Tensor1D, [0, (size - (gradsLocal.size % size)) % size]);
      const gathered = [...collective.allGather(tf.tensor1d([rank])).dataSync()];
      const total = collective.allReduce(whole);
      const rows = whole.size / size;
      const part = total.slice(rank * rows, rows);
      const mean = part.div(gathered.length);
      const own = () => tf.tensor1d([rank]);
      const found: Record<string, [tf.Tensor, tf.Tensor]> = {
        reduceScatter: [collective.reduceScatter(whole), part],
        into: [
          collective.reduceScatter(whole.clone(), 'sum', { donate: true, into: tf.zeros([rows]) }),
          part,
        ],
        mean: [collective.reduceScatter(whole, 'mean'), mean],
        reduceScatterCoalesced: [collective.reduceScatterCoalesced([whole])[0]!, part],
        meanCoalesced: [collective.reduceScatterCoalesced([whole], 'mean')[0]!, mean],
        allReduceCoalesced: [collective.allReduceCoalesced([whole], 'mean')[0]!, total.div(gathered.length)],
        even: [collective.allGather(own(), { even: true, into: tf.zeros([size]) }), tf.tensor1d(gathered)],
        allGatherCoalesced: [
          tf.concat(collective.allGatherCoalesced([own(), own()], { donate: true })),
          tf.tensor1d([...gathered, ...gathered]),
        ],
      };
      for (const [verb, [got, expected]] of Object.entries(found)) {
        const isSame = got.shape.join() === expected.shape.join();
        if (!isSame || got.sub(expected).abs().max().dataSync()[0]! > 1e-6) shards.wrong.push(verb);
      }
      shards.gathered.push(gathered);
    });
    gradsLocal.dispose();
    return sum;
  },
});
const named: Partial<Record<string, NamedCommHook>> = {
  powerSgd: { name: 'powerSgd', startIteration: 1 },
  oneBit: { name: 'oneBit', warmupSteps: 1 },
};
const initial = (shape: number[]) =>
  tf.sin(tf.range(0, tf.util.sizeFromShape(shape)).mul(1.9)).reshape(shape);
const makeVariables = (name: string) => [
  tf.variable(initial([12, 10]), true, `${name}/kernel`),
  tf.variable(initial([10]), true, `${name}/bias`),
];
/** A model whose layer finds the range of its inputs over all ranks. */
function makeObserver(): tf.Sequential {
  const observer = tf.sequential({ layers: [tf.layers.dense({ units: 2, inputShape: [12] })] });
  observer.trainable = false;
  return prepareQat(observer, { weights: 'int8', activations: 'static', observer: 'minMax' });
}
const makeOptimizer = (): tf.Optimizer => tf.train.adam(0.02);
const input = (r: number, step: number) => tf.cos(tf.range(0, 60).mul(0.7 + r + step / 3)).reshape([5, 12]);
const lossOf = (variables: tf.Variable[], r: number, step: number) =>
  tf.tidy(() => {
    const [kernel, bias] = variables as tf.Tensor[] as [tf.Tensor2D, tf.Tensor];
    return input(r, step).dot(kernel).add(bias).tanh().sub(r).square().mean().asScalar();
  });

interface Run {
  readonly accelerator: Accelerator;
  /** The number of steps of each rank. */
  readonly lengths: readonly number[];
}

/** Trains within joinUnevenInputs, then some steps together. */
async function trainTogether({ accelerator, lengths }: Run) {
  const { processIndex: rank } = accelerator;
  const mine = makeVariables('mine');
  accelerator.prepare(mine);
  const optimizer = accelerator.prepare(makeOptimizer());
  const observer = accelerator.prepare(makeObserver());
  const range = () => [...(observer.weights.at(-1)!.read() as tf.Tensor).dataSync()];
  const seen: number[] = [];
  const train = (step: number) =>
    tf.tidy(() => {
      // Without a list: the first such step agrees with the other ranks on all variables.
      optimizer.minimize(() => lossOf(mine, rank, step));
      seen.push(accelerator.gather(tf.scalar(rank)).size);
      observer.apply(input(rank, step), { training: true });
    });
  await accelerator.joinUnevenInputs(async () => {
    for (let step = 0; step < lengths[rank]!; step++) train(step);
    await Promise.resolve();
  });
  const afterJoin = mine.map((variable) => [...variable.dataSync()]);
  const observed = range();
  const longest = Math.max(...lengths);
  for (let step = longest; step < longest + WITH_ALL; step++) train(step);
  observer.dispose();
  return { mine, optimizer, seen, afterJoin, observed };
}

/** The same training alone, with variables that are not prepared. */
function trainAlone(lengths: readonly number[]): tf.Variable[] {
  const longest = Math.max(...lengths);
  const reference = makeVariables('reference');
  const optimizer = makeOptimizer();
  for (let step = 0; step < longest + WITH_ALL; step++) {
    tf.tidy(() => {
      const ranks = lengths.flatMap((length, r) => (step < length || step >= longest ? [r] : []));
      const meanLoss = () =>
        tf.addN(ranks.map((r) => lossOf(reference, r, step))).div(ranks.length) as tf.Scalar;
      optimizer.applyGradients(tf.variableGrads(meanLoss, reference).grads);
    });
  }
  return reference;
}

/** The range of all inputs within joinUnevenInputs, and the number of passes. */
function rangeAlone(lengths: readonly number[]): number[] {
  const all = lengths.flatMap((length, r) => Array.from({ length }, (_, step) => [r, step] as const));
  const inputs = all.flatMap(([r, step]) => tf.tidy(() => [...input(r, step).dataSync()]));
  return [-Math.min(...inputs), Math.max(...inputs), Math.max(...lengths)];
}

/** Trains on five batches of prepared data. */
async function trainOnData({ accelerator }: Run) {
  const loader = accelerator.prepare(new DataLoader(tf.range(0, 10), { batchSize: 2 }));
  const weight = tf.variable(tf.scalar(1), true, 'weight');
  accelerator.prepare([weight]);
  const sgd = accelerator.prepare(tf.train.sgd(0.1) as tf.Optimizer);
  let batches = 0;
  await accelerator.joinUnevenInputs(
    async () => {
      for await (const batch of loader) {
        batches++;
        tf.tidy(() => {
          sgd.minimize(() => weight.mul(batch.mean()) as tf.Scalar, false, [weight]);
        });
        batch.dispose();
      }
    },
    { evenBatches: false },
  );
  return { weight, batches, sgd };
}

async function train(lengths: readonly number[], hookName: string): Promise<object> {
  const shards: Shards = { wrong: [], gathered: [] };
  const commHook =
    hookName === 'shards' ? comparing(shards) : (named[hookName] ?? (hookName as CommHookName | 'none'));
  const accelerator = await Accelerator.create({
    ddp: commHook === 'none' ? {} : { commHook, batchNorm: 'sync' },
  });
  const before = tf.memory().numTensors;
  const { mine, optimizer, seen, afterJoin, observed } = await trainTogether({ accelerator, lengths });
  const reference = trainAlone(lengths);
  const { weight, batches, sgd } = await trainOnData({ accelerator, lengths });
  const state = await optimizer.getWeights();
  const valuesOf = (variables: tf.Variable[]) => variables.map((variable) => [...variable.dataSync()]);
  const result = {
    seen,
    shards,
    afterJoin,
    observed,
    expected: rangeAlone(lengths),
    weights: valuesOf(mine),
    reference: valuesOf(reference),
    state: state.map(({ name, tensor }) => [name, ...tensor.dataSync()]),
    batches,
    weight: weight.dataSync()[0],
    tensors: tf.memory().numTensors - before,
  };
  accelerator.freeMemory();
  tf.disposeVariables();
  disposeOptimizers(sgd);
  return result;
}

export default async function join(runs: readonly string[]): Promise<Record<string, object>> {
  const results: Record<string, object> = {};
  for (const run of runs) {
    const [lengths, hookName] = run.split(':') as [string, string];
    results[run] = await train(lengths.split(',').map(Number), hookName);
  }
  return results;
}
