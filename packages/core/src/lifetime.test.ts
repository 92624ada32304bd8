import * as tf from '@tensorflow/tfjs';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { Accelerator } from './accelerator.js';
import { whatRuns } from './running.js';

let accelerator: Accelerator;
let w: tf.Variable;
beforeEach(async () => {
  accelerator = await Accelerator.create();
  w = tf.variable(tf.scalar(1));
});
afterEach(() => whatRuns()?.freeMemory());

const loss = () => w.square() as tf.Scalar;
const training: Record<string, () => unknown> = {
  prepare: () => accelerator.prepare([w]),
  accumulate: () => accelerator.accumulate(() => 1),
  noSync: () => accelerator.noSync(() => 1),
  backward: () => accelerator.backward(loss, [w]),
  weighLoss: () => accelerator.weighLoss(tf.scalar(1), 1),
  autocast: () => accelerator.autocast(() => 1),
  compile: () => accelerator.compile(() => tf.scalar(1)),
  joinUnevenInputs: () => accelerator.joinUnevenInputs(() => 1),
  saveState: () => accelerator.saveState('/nowhere'),
  loadState: () => accelerator.loadState('/nowhere'),
  registerForCheckpointing: () => accelerator.registerForCheckpointing(),
};
const given = () => tf.tensor1d([3, 5]);
/** Calls and their results. */
const together: Record<string, readonly [call: () => unknown, gives: unknown]> = {
  gather: [() => accelerator.gather(given()), [3, 5]],
  gatherForMetrics: [() => accelerator.gatherForMetrics(given()), [3, 5]],
  gatherObject: [() => accelerator.gatherObject([1]), [1]],
  reduce: [() => accelerator.reduce(given(), 'sum', 2), [6, 10]],
  broadcast: [() => accelerator.broadcast(given()), [3, 5]],
  padAcrossProcesses: [() => accelerator.padAcrossProcesses(given()), [3, 5]],
  broadcastObject: [() => accelerator.broadcastObject({ a: 1 }), { a: 1 }],
  waitForEveryone: [() => accelerator.waitForEveryone(), undefined],
  mainProcessFirst: [() => accelerator.mainProcessFirst(() => 7), 7],
};
const calls = {
  ...training,
  ...Object.fromEntries(Object.entries(together).map(([name, [call]]) => [name, call])),
};

async function expectCode(call: () => unknown, code: string): Promise<void> {
  const called = async () => call();
  await expect(called()).rejects.toMatchObject({ code, help: expect.any(String) as string });
}

it.each(Object.entries(training))('%s after freeMemory is an error', async (_, call) => {
  accelerator.freeMemory();
  await expectCode(call, 'ACC_ACCELERATOR_FREED');
});

it.each(Object.entries(together))(
  '%s after freeMemory works, because the job continues',
  async (_, [call, gives]) => {
    accelerator.freeMemory();
    const given = await call();
    expect(given instanceof tf.Tensor ? [...given.dataSync()] : given).toEqual(gives);
  },
);

it.each(Object.entries(calls))('%s after endTraining is an error, also for one process', async (_, call) => {
  await accelerator.endTraining();
  await expectCode(call, 'ACC_TRAINING_ENDED');
});

/** Every way to train, of a model and an optimizer that were prepared and have taken a step. */
async function waysToTrain(): Promise<Record<string, () => unknown>> {
  const model = tf.sequential({ layers: [tf.layers.dense({ units: 1, inputShape: [2] })] });
  const [xs, ys] = [tf.ones([2, 2]), tf.ones([2, 1])];
  model.compile({ optimizer: 'sgd', loss: 'meanSquaredError' });
  const [, optimizer] = accelerator.prepare(model, tf.train.adam(0.1), [w]);
  const compiled = accelerator.compile(() => optimizer.minimize(loss, true, [w])!);
  for (let call = 0; call < 5; call++) compiled();
  const data = tf.data.array([{ xs: tf.ones([2]), ys: tf.ones([1]) }]).batch(1);
  const recompiled = () => {
    model.compile({ optimizer: 'adam', loss: 'meanSquaredError' });
    return model.fit(xs, ys, { verbose: 0 });
  };
  return {
    'minimize of a prepared optimizer': () => optimizer.minimize(loss),
    'a compiled step': () => compiled(),
    'minimize of another optimizer': () => tf.train.sgd(0.1).minimize(loss),
    variableGrads: () => tf.variableGrads(loss, [w]),
    'gradients that the program computed': () =>
      optimizer.applyGradients([{ name: w.name, tensor: tf.scalar(1) }]),
    'those by another optimizer': () =>
      tf.train.sgd(0.1).applyGradients([{ name: w.name, tensor: tf.scalar(1) }]),
    fit: () => model.fit(xs, ys, { verbose: 0 }),
    fitDataset: () => model.fitDataset(data, { epochs: 1, verbose: 0 }),
    trainOnBatch: () => model.trainOnBatch(xs, ys),
    'fit of a model that is compiled again': recompiled,
  };
}

it('every way to train after endTraining is an error, until another Accelerator runs', async () => {
  const ways = await waysToTrain();
  const valuesOf = () => [...w.dataSync()];
  await accelerator.endTraining();
  const before = valuesOf();
  const codes: Record<string, string> = {};
  for (const [name, train] of Object.entries(ways)) {
    codes[name] = await Promise.resolve()
      .then(train)
      .then(
        () => 'none',
        (error: { code?: string }) => String(error.code ?? error),
      );
  }
  expect(codes).toEqual(Object.fromEntries(Object.keys(ways).map((name) => [name, 'ACC_TRAINING_ENDED'])));
  expect(valuesOf()).toEqual(before);
  // What was never prepared, and a loss without gradients, are the program's own.
  const own = tf.variable(tf.scalar(1));
  tf.train.sgd(0.1).minimize(() => own.square() as tf.Scalar);
  expect([own.dataSync()[0], loss().dataSync()[0]]).toEqual(
    [0.8, before[0]! ** 2].map((each) => expect.closeTo(each, 5) as number),
  );
  await Accelerator.create();
  for (const train of Object.values(ways)) await train();
  expect(valuesOf()).not.toEqual(before);
});

it('freeMemory of an earlier Accelerator does not affect the current one', async () => {
  accelerator.freeMemory();
  const other = await Accelerator.create();
  const { random } = Math;
  accelerator.freeMemory();
  expect([whatRuns() === undefined, Math.random]).toEqual([false, random]);
  expect(other.prepare([w])).toEqual([w]);
});

it('endTraining after freeMemory ends the job', async () => {
  accelerator.freeMemory();
  await accelerator.endTraining();
  expect(() => accelerator.waitForEveryone()).toThrowError(
    expect.objectContaining({ code: 'ACC_TRAINING_ENDED' }),
  );
});

it('freeMemory and endTraining after endTraining do nothing', async () => {
  accelerator.freeMemory();
  const projectDir = mkdtempSync(join(tmpdir(), 'acc-lifetime-'));
  onTestFinished(() => rmSync(projectDir, { recursive: true }));
  accelerator = await Accelerator.create({ projectDir, logWith: ['jsonl'] });
  await accelerator.initTrackers('ended');
  await accelerator.endTraining();
  const record = join(
    projectDir,
    'runs',
    'ended',
    readdirSync(join(projectDir, 'runs', 'ended'))[0]!,
    'run.json',
  );
  const ended = readFileSync(record, 'utf8');
  expect(JSON.parse(ended)).toMatchObject({ status: 'completed' });
  const other = await Accelerator.create();
  const { random } = Math;
  accelerator.freeMemory();
  await accelerator.endTraining('failed');
  expect(readFileSync(record, 'utf8')).toBe(ended);
  // The call does not affect the Accelerator that is running now either.
  expect([whatRuns() === undefined, Math.random]).toEqual([false, random]);
  expect(other.prepare([w])).toEqual([w]);
});

it.each([[], [{ mixedPrecision: 'bf16' }]])('new Accelerator(%j) states how to create one', (...args) => {
  const created = Accelerator as unknown as new (...args: unknown[]) => Accelerator;
  expect(() => new created(...args)).toThrowError(
    expect.objectContaining({
      code: 'ACC_NOT_CREATED',
      help: expect.stringContaining('await Accelerator.create(') as unknown,
    }),
  );
});

it('endTraining waits for saves that the program does not await', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'acc-lifetime-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  accelerator.prepare([w]);
  void accelerator.saveState(join(folder, 'state'));
  void accelerator.save([tf.ones([2])], join(folder, 'tensors'));
  await accelerator.endTraining();
  expect(readdirSync(join(folder, 'state'))).toContain('checkpoint.json');
  expect(readdirSync(join(folder, 'tensors'))).toEqual([expect.stringMatching(/safetensors$/)]);
});

it('a save that freeMemory cuts off says so, with the line of the save', async () => {
  accelerator.prepare([w]);
  const saving = accelerator.saveState('/nowhere');
  accelerator.freeMemory();
  const error = await saving.then(undefined, (thrown: unknown) => thrown);
  expect(error).toMatchObject({
    code: 'ACC_ACCELERATOR_FREED',
    message: expect.stringMatching(
      /^freeMemory\(\) was called before saveState\(\) had ended\.\n→ Write await/,
    ),
    stack: expect.stringMatching(/lifetime\.test\.ts:\d+/),
    cause: expect.any(Error),
  });
});
