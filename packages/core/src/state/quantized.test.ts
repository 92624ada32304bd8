import * as tf from '@tensorflow/tfjs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { markCut } from '@acc/contract';
import { convertQat, prepareQat, quantize, quantizeVariable } from '@acc/quantization';
import type { QuantizeVariableOptions } from '@acc/quantization';
import { expectClose } from '@acc/testkit';
import { Accelerator } from '../accelerator.js';
import { modelFiles } from '../index.js';
import { requirePackedFits } from '../presets/packed-variables.js';
import { Limits } from '../step/limits.js';

let folder: string;
let accelerator: Accelerator;
const made: tf.Variable[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acc-packed-'));
});
afterEach(async () => {
  accelerator.freeMemory();
  tf.dispose(made.splice(0));
  await rm(folder, { recursive: true });
});

const error = (code: string, text: string | RegExp = ''): Error =>
  expect.objectContaining({ code, message: expect.stringMatching(text) as string }) as Error;

function floats(name: string, seed: number, isTrainable = true): tf.Variable {
  made.push(
    tf.tidy(() => tf.variable(tf.randomUniform([64, 64], -1, 1, 'float32', seed), isTrainable, name)),
  );
  return made.at(-1)!;
}

function packed(name: string, seed: number, options: QuantizeVariableOptions = { weights: 'nf4' }) {
  const variable = floats(name, seed);
  quantizeVariable(variable, options);
  return variable;
}

describe('packed weights in files', () => {
  let saved: Float32Array;
  beforeEach(async () => {
    accelerator = await Accelerator.create();
    const variable = packed('w', 1);
    accelerator.prepare([variable]);
    saved = variable.dataSync() as Float32Array;
    await accelerator.saveModel([variable], join(folder, 'model'));
    await accelerator.saveState(join(folder, 'state'));
    accelerator.freeMemory();
    tf.dispose(made.splice(0));
    accelerator = await Accelerator.create();
  });

  it.each(['loadModel', 'loadState'] as const)(
    '%s leaves tensors with the earlier values alone',
    async (load) => {
      const variable = packed('w', 2);
      accelerator.prepare([variable]);
      const own = variable.dataSync();
      const held = [variable.clone(), accelerator.getStateDict([variable]).w!];
      if (load === 'loadState') await accelerator.loadState(join(folder, 'state'));
      else {
        const { loaded } = await accelerator.loadModel([variable], join(folder, 'model'));
        expect(loaded).toEqual(['w']);
      }
      expect(variable.dataSync()).toEqual(saved);
      for (const each of held) expect(each.dataSync()).toEqual(own);
      tf.dispose(held);
    },
  );

  it('are refused by a model of another format, which names what to do', async () => {
    const path = join(folder, 'model');
    const stored = 'w:nf4.group64.last';
    const int4 = packed('w', 2, { weights: 'int4', granularity: { group: 64 } });
    const advice =
      /'w' is stored as nf4\.group64\.last.*int4\.group64\.last[^]*weights: 'nf4', granularity: \{ group: 64 \}/;
    await expect(accelerator.loadModel([int4], path)).rejects.toThrow(error('ACC_WEIGHTS_MISMATCH', advice));
    const names = { [stored]: 'w:int4.group64.last' };
    await expect(accelerator.loadModel([int4], path, { names })).rejects.toThrow(
      error('ACC_WEIGHTS_MISMATCH', advice),
    );
    int4.dispose();
    await expect(accelerator.loadModel([floats('w', 3)], path)).rejects.toThrow(
      error('ACC_WEIGHTS_MISMATCH', /not quantized[^]*Quantize the model before/),
    );
    made.pop()!.dispose();
    const permute = { [stored]: { name: stored, permute: [1, 0] } };
    await expect(accelerator.loadModel([packed('w', 2)], path, { names: permute })).rejects.toThrow(
      error('ACC_WEIGHTS_MISMATCH', 'permute'),
    );
  });

  it('do not take values of a float32 file', async () => {
    const variable = floats('w', 4);
    await accelerator.saveModel([variable], join(folder, 'floats'));
    quantizeVariable(variable, { weights: 'nf4' });
    await expect(accelerator.loadModel([variable], join(folder, 'floats'))).rejects.toThrow(
      error('ACC_WEIGHTS_MISMATCH', /stored as float32[^]*Load the file first/),
    );
  });

  it.each(['safetensors', 'tfjs'] as const)('are refused by tf.loadLayersModel: %s', async (format) => {
    const model = tf.sequential({ layers: [tf.layers.dense({ units: 64, inputShape: [64] })] });
    await quantize(model, { weights: 'nf4' });
    await accelerator.saveModel(model, folder, { format });
    await expect(tf.loadLayersModel(modelFiles(folder))).rejects.toThrow(
      error('ACC_WEIGHTS_MISMATCH', /is stored as nf4[^]*loadModel/),
    );
    model.dispose();
  });

  it('keep their numbers where saveModel stores the others in fewer bits', async () => {
    const make = async (seed: number) => {
      const model = tf.sequential({
        layers: [tf.layers.dense({ units: 64, inputShape: [64], name: 'dense' })],
      });
      model.setWeights([tf.randomNormal([64, 64], 0, 1, 'float32', seed), tf.fill([64], 1 / 3)]);
      await quantize(model, { weights: 'nf4' });
      return model;
    };
    const model = await make(1);
    await accelerator.saveModel(model, folder, { format: 'tfjs', quantization: 'float16' });
    const loaded = await make(2);
    await accelerator.loadModel(loaded, folder);
    const [kernel, bias] = ['kernel', 'bias'].map((name) =>
      [model, loaded].map((of) => {
        const weight = of.weights.find(({ originalName }) => originalName.endsWith(name))!;
        return [...weight.read().dataSync()];
      }),
    );
    expect(kernel![1]).toEqual(kernel![0]);
    expect(bias!.map(([first]) => first)).toEqual([Math.fround(1 / 3), 0.333251953125]);
    model.dispose();
    loaded.dispose();
  });
});

describe('layers that prepareQat has prepared', () => {
  function prepared(): tf.Sequential {
    const model = tf.sequential({
      layers: [tf.layers.dense({ units: 64, name: 'first', inputShape: [64] })],
    });
    model.add(tf.layers.dense({ units: 2, name: 'head' }));
    prepareQat(model, { weights: 'int8', activations: 'static', layers: ['first'] });
    return prepareQat(model, {
      ...{ weights: 'int4', granularity: { group: 32 }, scales: 'learned' },
      layers: ['head'],
    });
  }
  const values = (shape: number[], seed: number) => tf.randomUniform(shape, -1, 1, 'float32', seed);
  function predict(model: tf.LayersModel): Float32Array {
    return tf.tidy(() => (model.predict(values([3, 64], 9)) as tf.Tensor).dataSync() as Float32Array);
  }

  /** Trains a model, as recorded steps if `isCompiled`. */
  function train(model: tf.LayersModel, isCompiled: boolean, units = 2): number[] {
    const optimizer = tf.train.sgd(0.1);
    accelerator.prepare(model, optimizer);
    let calls = 0;
    const step = (x: tf.Tensor, y: tf.Tensor) => {
      calls++;
      const loss = () => tf.losses.meanSquaredError(y, model.apply(x, { training: true }) as tf.Tensor);
      return optimizer.minimize(loss as () => tf.Scalar, true)!;
    };
    const run = isCompiled ? accelerator.compile(step) : step;
    const losses = [1, 2, 3, 4, 5, 6].map((seed) =>
      tf.tidy(() => run(tf.mul(values([8, 64], seed), seed), values([8, units], 7)).dataSync()[0]!),
    );
    expect(calls < losses.length).toBe(isCompiled);
    optimizer.dispose();
    return losses;
  }

  it('are trained alike in recorded steps, and ranges of inputs too', async () => {
    const results = [];
    for (const isCompiled of [false, true]) {
      accelerator = await Accelerator.create();
      const model = prepared();
      tf.tidy(() => model.setWeights(model.getWeights().map((each, i) => values(each.shape, i).mul(0.1))));
      const losses = train(model, isCompiled);
      results.push({ losses, weights: model.getWeights().map((each) => [...each.dataSync()]) });
      accelerator.freeMemory();
      model.dispose();
    }
    expect(results[1]).toEqual(results[0]);
  });

  it.each(['State', 'Model'] as const)('are loaded by load%s, and converted then', async (kind) => {
    accelerator = await Accelerator.create();
    const model = prepared();
    train(model, false);
    const trained = predict(model);
    await (kind === 'State' ? accelerator.saveState(folder) : accelerator.saveModel(model, folder));
    accelerator.freeMemory();
    model.dispose();
    accelerator = await Accelerator.create();
    const loaded = prepared();
    if (kind === 'State') {
      accelerator.prepare(loaded, tf.train.sgd(0.1));
      await accelerator.loadState(folder);
    } else await accelerator.loadModel(loaded, folder);
    expect(predict(loaded)).toEqual(trained);
    accelerator.freeMemory();
    await convertQat(loaded);
    expectClose(predict(loaded), trained, { rtol: 0, atol: 1e-5 });
    loaded.dispose();
  });

  it.each(['int8', 'int4'] as const)(
    'are saved once they are converted: learned scales, %s',
    async (weights) => {
      accelerator = await Accelerator.create();
      const dense = () => tf.layers.dense({ units: 64, name: 'dense', inputShape: [64] });
      const model = tf.sequential({ layers: [dense()] });
      const options = weights === 'int8' ? { weights } : ({ weights, granularity: { group: 32 } } as const);
      prepareQat(model, { ...options, scales: 'learned' });
      await convertQat(model);
      await accelerator.saveModel(model, folder);
      const loaded = tf.sequential({ layers: [dense()] });
      await quantize(loaded, options);
      await accelerator.loadModel(loaded, folder);
      const valuesOf = (of: tf.LayersModel) => of.getWeights().map((each) => [...each.dataSync()]);
      expect(valuesOf(loaded)).toEqual(valuesOf(model));
      model.dispose();
      loaded.dispose();
    },
  );

  it.each(['State', 'Model'] as const)(
    'give a quantized model the ranges of its inputs, by load%s',
    async (kind) => {
      accelerator = await Accelerator.create();
      const dense = () =>
        tf.sequential({ layers: [tf.layers.dense({ units: 64, name: 'dense', inputShape: [64] })] });
      const model = prepareQat(dense(), { weights: 'int8', activations: 'static' });
      train(model, false, 64);
      accelerator.freeMemory();
      await convertQat(model);
      const expected = predict(model);
      accelerator = await Accelerator.create();
      accelerator.prepare(model);
      await (kind === 'State' ? accelerator.saveState(folder) : accelerator.saveModel(model, folder));
      accelerator.freeMemory();
      model.dispose();
      accelerator = await Accelerator.create();
      const loaded = dense();
      await quantize(loaded, { weights: 'int8', activations: 'static', calibration: 'stored' });
      accelerator.prepare(loaded);
      expect(() => predict(loaded)).toThrow(error('ACC_CALIBRATION_DATA', "'dense'"));
      await (kind === 'State' ? accelerator.loadState(folder) : accelerator.loadModel(loaded, folder));
      expectClose(predict(loaded), expected, { rtol: 0, atol: 1e-5 });
      loaded.dispose();
    },
  );

  it.each([
    { weights: 'int4', granularity: { group: 32 }, algorithm: 'gptq' },
    { weights: 'int8', algorithm: 'awq' },
    { weights: 'int8', activations: 'dynamic', algorithm: 'smoothQuant' },
  ] as const)('are saved and loaded once they are calibrated: $algorithm', async (options) => {
    accelerator = await Accelerator.create();
    const dense = () =>
      tf.sequential({ layers: [tf.layers.dense({ units: 64, name: 'dense', inputShape: [64] })] });
    const [model, loaded] = [dense(), dense()];
    const calibration = [values([40, 64], 1)];
    await quantize(model, { ...options, calibration });
    const expected = predict(model);
    await accelerator.saveModel(model, folder);
    const { algorithm, ...form } = options;
    await quantize(loaded, algorithm === 'gptq' ? form : { ...options, calibration: 'stored' });
    accelerator.prepare(loaded);
    const { unused } = await accelerator.loadModel(loaded, folder);
    expect(unused).toEqual([]);
    expect(predict(loaded)).toEqual(expected);
    tf.dispose(calibration);
    model.dispose();
    loaded.dispose();
  });

  it("compute in bf16 with mixedPrecision 'int8', which says so", async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    accelerator = await Accelerator.create({ engine: 'acc', mixedPrecision: 'int8', amp: { exclude: [] } });
    const model = prepared();
    accelerator.prepare(model);
    predict(model);
    expect(warn.mock.calls.flat().join()).toContain(
      'layers that prepareQat has prepared compute in bf16, with the weights that they round: first, head.',
    );
    warn.mockRestore();
    model.dispose();
  });

  it('are refused where weights are divided', () => {
    const model = prepared();
    const limits = new Limits({ strategy: { traits: {} } as never, features: new Set(['tensor'] as const) });
    const kernel = model.layers[0]!.weights[0]!.read() as tf.Variable;
    expect(() => requirePackedFits(kernel, limits)).toThrow(
      error('ACC_QUANTIZED_PLACE', /'first\/kernel.*' was prepared by prepareQat/),
    );
    model.dispose();
  });
});

describe('packed weights that prepare is given', () => {
  const give = (...variables: tf.Variable[]) => accelerator.prepare(variables);

  it('are frozen', async () => {
    accelerator = await Accelerator.create();
    const { w } = accelerator.getStateDict([packed('w', 1)]);
    made.push(tf.variable(w!, true, 'trained'));
    w!.dispose();
    expect(() => give(made.at(-1)!)).toThrow(error('ACC_QUANTIZED_FROZEN', "'trained'"));
  });

  it('get no gradients', async () => {
    accelerator = await Accelerator.create();
    const variable = packed('w', 1);
    const optimizer = tf.train.sgd(1);
    accelerator.prepare([variable], optimizer);
    const own = variable.dataSync();
    const grad = tf.ones([64, 64]);
    expect(() => optimizer.applyGradients({ w: grad })).toThrow(error('ACC_QUANTIZED_FROZEN', "'w'"));
    expect(variable.dataSync()).toEqual(own);
    grad.dispose();
    optimizer.dispose();
  });

  it('are no experts', async () => {
    accelerator = await Accelerator.create();
    const variable = packed('w', 1);
    markCut(variable, { axis: 'expert', dim: 0 });
    const limits = new Limits({ strategy: { traits: {} } as never, features: new Set(['expert'] as const) });
    expect(() => requirePackedFits(variable, limits)).toThrow(
      error('ACC_QUANTIZED_PLACE', /'w'.*mesh\.expert/),
    );
  });
});
