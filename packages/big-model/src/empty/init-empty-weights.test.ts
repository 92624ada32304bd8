import { readdirSync, readlinkSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { memoryStats } from '@acc/native';
import { livePatches, patch, type Undo } from '@acc/tfjs-internals';
import { emptyWeightOf, fillingEmpty } from './empty-weight.js';
import { initEmptyWeights } from './init-empty-weights.js';

beforeAll(() => registerAccBackend());

let undoRandom: Undo;
let drawn = 0;

/** Restarts `Math.random`, from which tfjs takes its seeds. */
function restartRandom(): void {
  drawn = 0;
}

beforeEach(() => {
  restartRandom();
  undoRandom = patch(Math, 'random', 'seed', () => () => (Math.imul(++drawn, 2654435761) >>> 0) / 2 ** 32);
});

afterEach(() => {
  undoRandom();
  tf.disposeVariables();
});

/** An initializer of a program. It draws as many numbers as the weight has elements. */
class Ramp extends (Object.getPrototypeOf(tf.initializers.zeros().constructor) as new () => object) {
  static readonly className = 'Ramp';
  apply(shape: number[]): tf.Tensor {
    return tf.tensor(
      Array.from({ length: shape.reduce((a, b) => a * b) }, () => Math.random()),
      shape,
    );
  }
  getConfig() {
    return {};
  }
}

function createModel(): tf.LayersModel {
  const input = tf.input({ shape: [6, 8] });
  const { dense, lstm, conv1d, batchNormalization, layerNormalization, bidirectional } = tf.layers;
  const layers = [
    conv1d({
      filters: 8,
      kernelSize: 3,
      kernelInitializer: 'heNormal',
      biasInitializer: tf.initializers.constant({ value: 0.5 }),
    }),
    batchNormalization(),
    bidirectional({ layer: lstm({ units: 4, returnSequences: true }) as tf.RNN, mergeMode: 'concat' }),
    layerNormalization(),
    dense({ units: 8, kernelInitializer: new Ramp() as never, biasInitializer: 'randomNormal' }),
    dense({ units: 8, kernelInitializer: tf.initializers.orthogonal({ seed: 3 }) }),
    dense({ units: 8, kernelInitializer: 'identity' }),
    dense({ units: 3, kernelInitializer: 'leCunUniform', biasInitializer: 'truncatedNormal' }),
  ];
  const output = layers.reduce((x, layer) => layer.apply(x) as tf.SymbolicTensor, input);
  return tf.model({ inputs: input, outputs: output });
}

const variablesOf = (model: tf.LayersModel) => model.weights.map((weight) => weight.read() as tf.Variable);
const valuesOf = (variables: readonly tf.Tensor[]) => variables.map((variable) => [...variable.dataSync()]);
const isEmptyWeight = (variable: tf.Variable) => emptyWeightOf(variable) !== undefined;
const codeOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
};

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The number of open files with values. */
const openFiles = () =>
  readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).includes('.values');
    } catch {
      return false;
    }
  }).length;

/** Waits until the files of values that are garbage are closed. */
const filesClosed = () =>
  vi.waitFor(
    () => {
      collectGarbage();
      expect(openFiles()).toBe(0);
    },
    { timeout: 240_000 },
  );

describe.each(['acc', 'cpu'])('on %s', (backend) => {
  beforeAll(() => tf.setBackend(backend));

  it('weights of every kind of layer get, when they are filled, the bits that they would be created with', () => {
    const full = createModel();
    const after = Math.random();
    restartRandom();
    const model = initEmptyWeights(createModel);
    expect(Math.random()).toBe(after);
    const variables = variablesOf(model);
    expect(variables.every(isEmptyWeight)).toBe(true);
    expect(variables.map(({ shape, dtype }) => [shape, dtype])).toEqual(
      variablesOf(full).map(({ shape, dtype }) => [shape, dtype]),
    );
    // The last ones first: the order of filling does not matter.
    fillingEmpty(variables.slice(5), () => {});
    fillingEmpty(variables, () => {});
    expect(variables.some(isEmptyWeight)).toBe(false);
    expect(valuesOf(variables)).toEqual(valuesOf(variablesOf(full)));
    expect(new Set(valuesOf(variables).flat()).size).toBeGreaterThan(100);
  });

  it('variables of a plain program, and the tensors that they are made of, get their values', () => {
    function create() {
      return tf.tidy(() => {
        const scale = tf.scalar(0.02);
        const initial = tf.keep(tf.randomNormal([3, 4]));
        const counts = tf.range(0, 5, 1, 'float32');
        return {
          initial,
          variables: [
            tf.variable(initial.mul(scale)),
            tf.variable(initial, false),
            tf.variable(tf.zeros([7])),
            tf.variable(counts, true, undefined, 'int32'),
            tf.variable(tf.tensor1d([1, 0, 1], 'bool')),
          ],
        };
      });
    }
    const full = create();
    restartRandom();
    const { variables, initial } = initEmptyWeights(create);
    expect(variables.every(isEmptyWeight)).toBe(true);
    expect(variables.map(({ dtype, trainable }) => [dtype, trainable])).toEqual(
      full.variables.map(({ dtype, trainable }) => [dtype, trainable]),
    );
    expect(valuesOf([initial])).toEqual(valuesOf([full.initial]));
    fillingEmpty(variables, () => {});
    expect(valuesOf(variables)).toEqual(valuesOf(full.variables));
    expect(valuesOf([initial])).toEqual(valuesOf([full.initial]));
    tf.dispose([initial, full.initial]);
  });

  it('an empty weight has a shape, and a read of it is an error that names it', () => {
    const model = initEmptyWeights(createModel);
    expect(model.countParams()).toBe(createModel().countParams());
    const lines: string[] = [];
    model.summary(undefined, undefined, (line: string) => lines.push(line));
    expect(lines.join('\n')).toContain('Total params');
    const [first] = variablesOf(model);
    expect(() => first!.dataSync()).toThrowError(
      expect.objectContaining({
        code: 'ACC_WEIGHT_EMPTY',
        details: { weight: first!.name, shape: [3, 8, 8] },
      }),
    );
    const x = tf.ones([1, 6, 8]);
    expect(codeOf(() => model.predict(x))).toBe('ACC_WEIGHT_EMPTY');
    expect(codeOf(() => tf.variable(first!))).toBe(undefined);
    x.dispose();
  });

  it('stays empty if what fills it throws, and takes values that a program assigns', () => {
    const variable = initEmptyWeights(() => tf.variable(tf.randomNormal([4])));
    const fail = () =>
      fillingEmpty([variable], () => {
        expect(variable.dataSync()).toHaveLength(4);
        throw new Error('stopped');
      });
    expect(fail).toThrow('stopped');
    expect(codeOf(() => variable.dataSync())).toBe('ACC_WEIGHT_EMPTY');
    tf.tidy(() => variable.assign(tf.tensor1d([1, 2, 3, 4])));
    expect(isEmptyWeight(variable)).toBe(false);
    fillingEmpty([variable], () => {});
    expect(valuesOf([variable])).toEqual([[1, 2, 3, 4]]);
  });

  it('clones of what a variable is made of keep its values while other models are built', () => {
    const built: tf.Tensor[] = [];
    const create = (start: number) => () => {
      const given = tf.range(start, start + 2000);
      built.push(given.clone());
      const variable = tf.variable(given);
      given.dispose();
      return variable;
    };
    const first = initEmptyWeights(create(0));
    const copy = first.clone();
    fillingEmpty([first], () => {});
    const second = initEmptyWeights(create(5000));
    expect([...built, copy, first].map((each) => each.dataSync()[1])).toEqual([1, 5001, 1, 1]);
    fillingEmpty([second], () => {});
    expect(second.dataSync()[1]).toBe(5001);
    tf.dispose([...built, copy]);
  });

  it.each([
    ['filled', (variable: tf.Variable) => fillingEmpty([variable], () => {})],
    ['assigned values', (variable: tf.Variable) => tf.tidy(() => variable.assign(tf.zeros([5000])))],
    ['disposed', (variable: tf.Variable) => variable.dispose()],
    [
      'disposed by the engine, as in disposeVariables',
      (variable: tf.Variable) => tf.engine().disposeVariable(variable),
    ],
  ])('keeps a temporary file until the last variable is %s', (_, end) => {
    const before = openFiles();
    const variables = initEmptyWeights(() =>
      [1, 2].map((seed) => tf.tidy(() => tf.variable(tf.randomNormal([5000], 0, 1, 'float32', seed)))),
    );
    expect(openFiles()).toBe(1);
    end(variables[0]!);
    expect(openFiles()).toBe(1);
    end(variables[1]!);
    expect(openFiles()).toBeLessThanOrEqual(before);
  });

  it('leaves nothing when disposeVariables ends a model', async () => {
    await filesClosed();
    const before = [tf.memory().numTensors, livePatches(), openFiles()];
    initEmptyWeights(createModel);
    expect(openFiles()).toBe(1);
    tf.disposeVariables();
    expect([tf.memory().numTensors, livePatches(), openFiles()]).toEqual(before);
  });

  it('closes the file when what a variable was made of is garbage', async () => {
    await filesClosed();
    (() => {
      const given = tf.tidy(() => tf.keep(tf.randomNormal([300])));
      initEmptyWeights(() => tf.variable(given));
      tf.disposeVariables();
      expect(openFiles()).toBe(1);
      expect(new Set(given.dataSync()).size).toBeGreaterThan(100);
      given.dispose();
    })();
    await filesClosed();
  });

  it('leaves tfjs as it was, also after a builder that throws, and leaks nothing', () => {
    const before = tf.memory().numTensors;
    const thrown = () =>
      initEmptyWeights(() => {
        initEmptyWeights(createModel).dispose();
        throw new Error('built half');
      });
    expect(thrown).toThrow('built half');
    const model = initEmptyWeights(() => initEmptyWeights(createModel));
    fillingEmpty(variablesOf(model), () => {});
    model.dispose();
    expect(tf.memory().numTensors).toBe(before);
    const variable = tf.variable(tf.scalar(3));
    expect(isEmptyWeight(variable)).toBe(false);
    expect([...variable.dataSync()]).toEqual([3]);
  });

  it.each([
    ['nothing', undefined],
    ['a model', {}],
    ['an asynchronous function', async () => {}],
  ])('refuses %s', (_, given) => {
    expect(codeOf(() => initEmptyWeights(given as never))).toBe('ACC_INVALID_ARGUMENT');
  });
});

it('allocates no memory for weights, whatever their size', async () => {
  await tf.setBackend('acc');
  const before = memoryStats();
  const model = initEmptyWeights(() =>
    tf.sequential({
      layers: [100_000, 100_000].map((units) => tf.layers.dense({ units, inputShape: [100_000] })),
    }),
  );
  // 80 GB of weights.
  expect(model.countParams()).toBe(2 * (1e10 + 1e5));
  const variables = initEmptyWeights(() => [1, 2, 3].map(() => tf.variable(tf.randomUniform([256, 1024]))));
  const { allocatedBytes } = memoryStats();
  expect(allocatedBytes - before.allocatedBytes).toBeLessThan(64 * 1024);
  expect(variables).toHaveLength(3);
});
