// Trains several models concurrently, in each way that a program can. Reports their weights next to
// those of plain tfjs, and errors. Arguments: the tfjs backends (acc | cpu). Reports by backend.
import * as tf from '@tensorflow/tfjs';
import { Accelerator } from '@acc/core';
import { reportResult } from '@acc/testkit';

const backends = process.argv.slice(2);
const rank = Number(process.env['RANK']);
const ROWS = 12;

const xs = () => tf.sin(tf.range(0, ROWS * 3)).reshape([ROWS, 3]);
const ys = (model: number) => tf.cos(tf.range(0, ROWS * 2).mul(0.3 + model)).reshape([ROWS, 2]);

function createModel(): tf.Sequential {
  const kernelInitializer = tf.initializers.glorotNormal({ seed: 4 });
  const model = tf.sequential({
    layers: [tf.layers.dense({ units: 2, inputShape: [3], kernelInitializer, activation: 'tanh' })],
  });
  model.compile({ optimizer: tf.train.sgd(0.3), loss: 'meanSquaredError' });
  return model;
}

const weightsOf = (model: tf.Sequential) => model.getWeights().flatMap((w) => [...w.dataSync()]);
const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
/** A delay that differs between ranks and between models. */
const waits = (model: number) => ({ onBatchEnd: () => wait(1 + ((rank + model) % 3) * 7) });
const settings = { batchSize: 6, epochs: 2, shuffle: false, verbose: 0 };
const data = (model: number) =>
  tf.data.zip({ xs: tf.data.array(tf.unstack(xs())), ys: tf.data.array(tf.unstack(ys(model))) }).batch(5);
const codeOf = (error: unknown) => (error as { code?: string }).code ?? (error as Error).message;

type Ways = Record<string, (prepare: (model: tf.Sequential) => tf.Sequential) => Promise<number[]>>;

/** Programs that plain tfjs can run, too. */
const ways: Ways = {
  async 'three fits at once'(prepare) {
    const models = [0, 1, 2].map(() => prepare(createModel()));
    await Promise.all(models.map((model, i) => model.fit(xs(), ys(i), { ...settings, callbacks: waits(i) })));
    return models.flatMap(weightsOf);
  },
  async 'fit, fitDataset and evaluateDataset at once'(prepare) {
    const models = [0, 1, 2, 3].map(() => prepare(createModel()));
    const [, , evaluated] = await Promise.all([
      models[0]!.fit(xs(), ys(0), { ...settings, callbacks: waits(0), validationSplit: 0.5 }),
      models[1]!.fitDataset(data(1), {
        epochs: 2,
        callbacks: waits(1),
        verbose: 0,
        validationData: data(2),
      }),
      models[2]!.evaluateDataset(data(2) as never, {}),
      models[3]!.fitDataset(data(2), { epochs: 1, callbacks: waits(2), verbose: 0 }),
    ]);
    return models.flatMap(weightsOf).concat([...(await (evaluated as tf.Scalar).data())]);
  },
  async 'fits in callbacks of a fit'(prepare) {
    const [outer, ...inner] = [0, 1, 2].map(() => prepare(createModel()));
    const train = (i: number) => inner[i]!.fit(xs(), ys(i + 1), { ...settings, callbacks: waits(i) });
    const history = await outer!.fitDataset(data(0), {
      epochs: 2,
      verbose: 0,
      callbacks: {
        onBatchBegin: async (batch) => void (batch === 1 && (await Promise.all([train(0), train(1)]))),
      },
    });
    return [outer!, ...inner].flatMap(weightsOf).concat(history.history['loss'] as number[]);
  },
  async 'a fit after one whose callback threw'(prepare) {
    const [bad, good] = [prepare(createModel()), prepare(createModel())];
    const fail = () => {
      throw new Error('no more');
    };
    const [first] = await Promise.allSettled([
      bad.fit(xs(), ys(0), { ...settings, callbacks: { onBatchEnd: fail } }),
      good.fit(xs(), ys(1), { ...settings, callbacks: waits(1) }),
    ]);
    if (first.status !== 'rejected' || codeOf(first.reason) !== 'no more')
      throw new Error('it did not throw');
    return [bad, good].flatMap(weightsOf);
  },
};

interface Attempts {
  readonly refused: Record<string, string>;
  tryTo(what: string, run: () => unknown): Promise<void>;
}

function attempts(): Attempts {
  const refused: Record<string, string> = {};
  const tryTo = async (what: string, run: () => unknown) => {
    try {
      await run();
      refused[what] = 'done';
    } catch (error) {
      refused[what] = codeOf(error);
    }
  };
  return { refused, tryTo };
}

/**
 * Steps of a loop during a fit. Returns what was refused, and the result of steps in another order
 * on rank 0.
 */
async function besideFit(accelerator: Accelerator, isLast: boolean): Promise<object> {
  const { refused, tryTo } = attempts();
  const model = accelerator.prepare(createModel());
  const first = model.fit(xs(), ys(0), { ...settings, callbacks: waits(0) });
  await tryTo('a second fit of one model', () => model.fit(xs(), ys(0), settings));
  await first;

  const [a, b] = [tf.variable(tf.ones([4]), true, 'a'), tf.variable(tf.ones([4]), true, 'b')];
  const [optimizer] = accelerator.prepare(tf.train.sgd(0.1), [a], [b]);
  const step = (v: tf.Variable) => optimizer.minimize(() => tf.mean(tf.square(v)), false, [v]);
  let begin!: () => void;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const outside = begun.then(() => tryTo('a step of a loop beside a fit', () => step(a)));
  await model.fit(xs(), ys(0), {
    ...settings,
    callbacks: { onEpochBegin: async () => (begin(), await outside) },
  });
  await tryTo('steps of loops after it', () => [a, b].forEach(step));
  await tryTo('a step in a callback', () =>
    model.fit(xs(), ys(0), { ...settings, callbacks: { onBatchEnd: async () => void step(a) } }),
  );
  // The group may fail together with them.
  if (!isLast) return { refused };
  // The order of loops that run concurrently, which depends on timing.
  let mixed = 'nothing';
  try {
    for (const v of rank === 0 ? [a, b] : [b, a]) step(v);
  } catch (error) {
    mixed = `${codeOf(error)} ${(error as Error).message}`;
  }
  return { refused, mixed };
}

const plain: Record<string, number[]> = {};
await tf.setBackend('cpu');
for (const [name, way] of Object.entries(ways)) plain[name] = await way((model) => model);

const told: Record<string, object> = {};
for (const backend of backends) {
  await tf.setBackend('cpu');
  const accelerator = await Accelerator.create({
    dataLoader: { splitBatches: true },
    engine: backend === 'cpu' ? 'tfjs' : 'acc',
  });
  const { backendName } = accelerator;
  const got: Record<string, number[]> = {};
  for (const [name, way] of Object.entries(ways))
    got[name] = await way((model) => accelerator.prepare(model));
  const others = await besideFit(accelerator, backend === backends.at(-1));
  told[backend] = { backend: backendName, plain, got, ...others };
  accelerator.freeMemory();
  tf.disposeVariables();
}
reportResult(told);
