import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { liveTensors } from '@acc/native';
import { expectClose } from '@acc/testkit';
import { registerAccBackend } from '@acc/kernels';
import { makeGradients, makeVariables } from './testing/optimizer-steps.js';
import { adafactor, adamw, lamb, lion, registerOptimizers, sgdw } from './index.js';
import { fusedApply } from './testing/fused-apply.js';

const DECAY = { weightDecay: 0.1, excludeFromWeightDecay: ['layer_norm', '[Bb]ias'] };

const OPTIMIZERS: readonly [string, () => tf.Optimizer][] = [
  ['adamw', () => adamw({ learningRate: 0.01, ...DECAY })],
  ['sgdw', () => sgdw({ learningRate: 0.1, ...DECAY })],
  ['sgdw with momentum', () => sgdw({ learningRate: 0.1, momentum: 0.9, nesterov: true, ...DECAY })],
  ['lion', () => lion({ learningRate: 0.01, ...DECAY })],
  ['lamb', () => lamb({ learningRate: 0.01, excludeFromLayerAdaptation: ['Dense_1'], ...DECAY })],
  ['adafactor', () => adafactor({ learningRate: 0.1, ...DECAY })],
  ['adafactor with momentum', () => adafactor({ learningRate: 0.1, beta1: 0.5, ...DECAY })],
];

beforeAll(() => {
  registerAccBackend();
  registerOptimizers();
});

const valuesOf = (variables: readonly tf.Variable[]) => variables.map((variable) => [...variable.dataSync()]);

function runSteps(optimizer: tf.Optimizer, variables: tf.Variable[], from: number, to: number): void {
  for (let step = from; step < to; step++) {
    tf.tidy(() => optimizer.applyGradients(makeGradients(variables, step)));
  }
}

describe.each(OPTIMIZERS)('%s', (name, make) => {
  describe.each(['acc', 'cpu'])('on %s', (backend) => {
    it('continues from saved weights as if it had never stopped', async () => {
      await tf.setBackend(backend);
      const straight = makeVariables('straight');
      const stopped = makeVariables('stopped');
      runSteps(make(), straight, 0, 9);
      const first = make();
      runSteps(first, stopped, 0, 5);
      const second = make();
      const saved = await first.getWeights();
      expect(saved[0]).toMatchObject({ name: 'iter' });
      await second.setWeights(saved);
      first.dispose();
      runSteps(second, stopped, 5, 9);
      expect(second.iterations).toBe(9);
      // Both runs do the same operations on the same numbers, so the results are equal.
      expect(valuesOf(stopped)).toEqual(valuesOf(straight));
      tf.dispose([...straight, ...stopped]);
    });

    it('leaves no tensor behind', async () => {
      await tf.setBackend(backend);
      const counts = () => [tf.memory().numTensors, tf.memory().numDataBuffers, liveTensors()];
      const atStart = counts();
      const variables = makeVariables('leak');
      const optimizer = make();
      runSteps(optimizer, variables, 0, 4);
      const before = counts();
      runSteps(optimizer, variables, 4, 12);
      expect(counts()).toEqual(before);
      optimizer.dispose();
      tf.dispose(variables);
      expect(counts()).toEqual(atStart);
    });

    it('reduces the loss, and accepts a new rate', async () => {
      await tf.setBackend(backend);
      const w = tf.variable(tf.tensor([[3, -2]]));
      const optimizer = make();
      const loss = () => tf.sum(tf.square(tf.sub(w, [[1, 1]]))) as tf.Scalar;
      const first = loss().dataSync()[0]!;
      for (let i = 0; i < 20; i++) optimizer.minimize(loss, false, [w]);
      expect(loss().dataSync()[0]).toBeLessThan(first);
      (optimizer as ReturnType<typeof adamw>).setLearningRate(0);
      const before = [...w.dataSync()];
      optimizer.minimize(loss, false, [w]);
      // Adafactor's momentum stores steps, which include the old rate, so its weights still move.
      if (!(optimizer.getConfig()['beta1'] && 'relativeStep' in optimizer.getConfig())) {
        expect([...w.dataSync()]).toEqual(before);
      }
    });
  });

  it('is saved and loaded with a model', async () => {
    await tf.setBackend('acc');
    const model = tf.sequential({
      layers: [
        tf.layers.dense({ units: 3, inputShape: [2] }),
        tf.layers.batchNormalization({ name: `layer_norm_${name.replaceAll(' ', '_')}` }),
        tf.layers.dense({ units: 1 }),
      ],
    });
    const optimizer = make();
    model.compile({ optimizer, loss: 'meanSquaredError' });
    const [xs, ys] = [tf.randomNormal([8, 2]), tf.randomNormal([8, 1])];
    await model.fit(xs, ys, { epochs: 2, verbose: 0 });
    let artifacts: tf.io.ModelArtifacts | undefined;
    await model.save(
      tf.io.withSaveHandler((saved) => {
        // JSON, as on disk.
        artifacts = { ...saved, trainingConfig: JSON.parse(JSON.stringify(saved.trainingConfig)) as never };
        return Promise.resolve({ modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } });
      }),
      { includeOptimizer: true },
    );
    const loaded = (await tf.loadLayersModel(tf.io.fromMemory(artifacts!))) as tf.Sequential;
    const restored = loaded.optimizer;
    expect(restored.getClassName()).toBe(optimizer.getClassName());
    expect(restored.getConfig()).toEqual(optimizer.getConfig());
    expect(restored.iterations).toBe(2);
    await Promise.all([model, loaded].map((each) => each.fit(xs, ys, { epochs: 1, shuffle: false })));
    expectClose(
      loaded.getWeights().map((x) => [...x.dataSync()]),
      model.getWeights().map((x) => [...x.dataSync()]),
    );
  });

  it('does not change what others hold of a weight', async () => {
    await tf.setBackend('acc');
    const variables = makeVariables('held');
    const optimizer = make();
    runSteps(optimizer, variables, 0, 2);
    const clones = variables.map((variable) => tf.clone(variable));
    const before = clones.map((clone) => [...clone.dataSync()]);
    runSteps(optimizer, variables, 2, 4);
    expect(clones.map((clone) => [...clone.dataSync()])).toEqual(before);
    expect(valuesOf(variables)).not.toEqual(before);
    tf.dispose([...variables, ...clones]);
  });

  it('does not use the fused update for lists', async () => {
    await tf.setBackend('acc');
    expect(fusedApply(make())).toBeUndefined();
  });
});

describe('options', () => {
  it.each<[string, () => unknown, string]>([
    ['an unknown one', () => adamw({ weigthDecay: 1 } as never), 'ACC_UNKNOWN_OPTION'],
    ['a negative rate', () => lion({ learningRate: -1 }), 'ACC_INVALID_OPTION'],
    ['a rate of NaN', () => sgdw({ learningRate: NaN }), 'ACC_INVALID_OPTION'],
    ['a beta of 1', () => lamb({ beta2: 1 }), 'ACC_INVALID_OPTION'],
    ['a flag that is not a boolean', () => sgdw({ nesterov: 1 as never }), 'ACC_INVALID_OPTION'],
    ['a bad expression', () => adafactor({ excludeFromWeightDecay: ['('] }), 'ACC_INVALID_OPTION'],
    [
      'a filter of another kind',
      () => adamw({ excludeFromWeightDecay: 'bias' as never }),
      'ACC_INVALID_OPTION',
    ],
    [
      'saving a function',
      () => adamw({ excludeFromWeightDecay: () => true }).getConfig(),
      'ACC_OPTIMIZER_NOT_SAVEABLE',
    ],
    [
      'a gradient of no variable',
      () => adamw().applyGradients({ nothing: tf.scalar(1) }),
      'ACC_VARIABLE_UNKNOWN',
    ],
  ])('refuse %s', (_, act, code) => {
    expect(act).toThrowError(expect.objectContaining({ code }));
  });

  it('that are undefined have their defaults', () => {
    expect(adamw({ learningRate: undefined as never }).learningRate).toBe(0.001);
  });
});

it('weights of another kind of optimizer are refused', async () => {
  const iterations = { name: 'iter', tensor: tf.scalar(1, 'int32') };
  const one = { name: 'a', tensor: tf.scalar(1) };
  for (const optimizer of [adamw(), sgdw()]) {
    await expect(optimizer.setWeights([iterations, one])).rejects.toMatchObject({
      code: 'ACC_OPTIMIZER_WEIGHTS',
    });
  }
});
