import { readFileSync } from 'node:fs';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { runForward } from '@acc/tape';
import { expectClose } from '@acc/testkit';
import { moe, transformerBlock, type MoeArgs } from '../index.js';
import { gelu } from '@acc/kernels';
import { MOE } from './options.js';
import { capacityOf, Routing } from './routing.js';

beforeAll(() => registerAccBackend());

const BACKENDS = ['acc', 'cpu'] as const;
const [TOKENS, WIDTH, INNER] = [14, 6, 8];

/** Numbers that repeat in no dim. */
const wave = (shape: number[], phase = 0): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.add(tf.mul(tf.range(0, tf.util.sizeFromShape(shape)), 1.7), phase)).reshape(shape));

type Moe = ReturnType<typeof moe>;

function built(args: Omit<MoeArgs, 'innerUnits'>): Moe {
  const layer = moe({ innerUnits: INNER, ...args });
  layer.apply(tf.input({ shape: [WIDTH] }));
  layer.weights.forEach((weight, i) =>
    tf.tidy(() => void weight.write(wave(weight.shape as number[], i).mul(0.7))),
  );
  return layer;
}

const variablesOf = (layer: Moe) => layer.weights.map((weight) => weight.read() as tf.Variable);

/** All experts compute all tokens, and masks choose: nothing of the layer's way is used. */
function dense(
  layer: Moe,
  x: tf.Tensor2D,
  args: MoeArgs,
  addsLosses: boolean,
): { y: tf.Tensor2D; extra: tf.Tensor } {
  const { experts, topK = 2, capacityFactor, sharedExperts = 0, mlp = 'gelu' } = args;
  const { balanceLoss = 0.01, zLoss = 0.001, normalizeGates = topK > 1 } = args;
  const weights = variablesOf(layer);
  const named = (end: string) => weights.find(({ name }) => name.replace(/_\d+$/, '').endsWith(end));
  const logits = tf.matMul(x, named('router/kernel') as tf.Tensor2D);
  const p = tf.softmax(logits);
  const probabilities = p.arraySync() as number[][];
  const order = probabilities.map((row) =>
    row
      .map((_, e) => e)
      .sort((a, b) => row[b]! - row[a]!)
      .slice(0, topK),
  );
  const capacity =
    capacityFactor === undefined ? Infinity : Math.ceil((capacityFactor * x.shape[0] * topK) / experts);
  const used = new Array<number>(experts).fill(0);
  const assigned = new Array<number>(experts).fill(0);
  const chosen = probabilities.map(() => new Array<number>(experts).fill(0));
  const kept = probabilities.map(() => new Array<number>(experts).fill(0));
  for (let k = 0; k < topK; k++) {
    order.forEach((choices, t) => {
      const e = choices[k]!;
      assigned[e]!++;
      chosen[t]![e] = 1;
      if (used[e]!++ < capacity) kept[t]![e] = 1;
    });
  }
  let gates: tf.Tensor2D = tf.mul(p, tf.tensor2d(chosen));
  if (normalizeGates) gates = tf.div(gates, tf.sum(gates, 1, true));
  gates = tf.mul(gates, tf.tensor2d(kept));
  const mlpOf = (w: (role: string, kind: string) => tf.Tensor | undefined, given: tf.Tensor2D) => {
    const project = (role: string, from: tf.Tensor) => {
      const product = tf.matMul(from as tf.Tensor2D, w(role, 'kernel') as tf.Tensor2D);
      const bias = w(role, 'bias');
      return bias ? tf.add(product, bias) : product;
    };
    if (mlp === 'swiGlu') {
      const gate = project('gate_proj', given);
      return project('down_proj', tf.mul(tf.mul(gate, tf.sigmoid(gate)), project('up_proj', given)));
    }
    return project('c_proj', gelu(project('c_fc', given), { approximate: 'tanh' }));
  };
  let y: tf.Tensor2D = tf.zerosLike(x);
  for (let e = 0; e < experts; e++) {
    const out = mlpOf((role, kind) => {
      const weight = named(`experts/${role}/${kind}`);
      return weight && tf.unstack(weight)[e];
    }, x);
    y = tf.add(y, tf.mul(out, tf.slice(gates, [0, e], [-1, 1])));
  }
  if (sharedExperts > 0)
    y = tf.add(
      y,
      mlpOf((role, kind) => named(`shared/${role}/${kind}`), x),
    );
  const f = tf.tensor1d(assigned.map((count) => (count / x.shape[0] / topK) * experts * balanceLoss));
  const z = tf.mul(tf.mean(tf.square(tf.logSumExp(logits, 1))), zLoss);
  return { y, extra: addsLosses ? tf.add(tf.sum(tf.mul(f, tf.mean(p, 0))), z) : tf.scalar(0) };
}

const CASES: Readonly<Record<string, MoeArgs>> = {
  'one expert a token': { experts: 4, topK: 1 },
  'two experts a token': { experts: 4 },
  'all experts': { experts: 3, topK: 3, useBias: false },
  'a capacity': { experts: 4, topK: 2, capacityFactor: 0.8 },
  'a capacity of top 1': { experts: 4, topK: 1, capacityFactor: 1 },
  'SwiGLU and shared experts': { experts: 4, mlp: 'swiGlu', sharedExperts: 2 },
  'MLPs and a shared expert': { experts: 2, topK: 1, sharedExperts: 1, balanceLoss: 0.3, zLoss: 0.2 },
  'gates as they are': { experts: 5, topK: 2, normalizeGates: false, balanceLoss: 0 },
};

describe.each(BACKENDS)('on %s', (backend) => {
  beforeAll(async () => void (await tf.setBackend(backend)));

  it.each(Object.entries(CASES))(
    '%s: values and gradients are those of all experts with masks',
    (_, args) => {
      const layer = built(args);
      const variables = variablesOf(layer);
      const x = wave([TOKENS, WIDTH], 0.3) as tf.Tensor2D;
      const dy = wave([TOKENS, WIDTH], 3);
      const values = (tensor: tf.Tensor) => Array.from(tensor.dataSync());
      const own = () =>
        tf.tidy(() => {
          const { grads } = tf.variableGrads(
            () => tf.sum(tf.mul(layer.apply(x) as tf.Tensor, dy)),
            variables,
          );
          const dx = tf.grad((given: tf.Tensor) => tf.sum(tf.mul(layer.apply(given) as tf.Tensor, dy)))(x);
          return [layer.apply(x) as tf.Tensor, dx, ...variables.map(({ name }) => grads[name]!)].map(values);
        });
      own();
      const before = tf.memory().numTensors;
      const actual = own();
      expect(tf.memory().numTensors).toBe(before);
      const expected = tf.tidy(() => {
        const loss = (given: tf.Tensor2D) => {
          const { y, extra } = dense(layer, given, args, true);
          return tf.add(tf.sum(tf.mul(y, dy)), extra);
        };
        const { grads } = tf.variableGrads(() => loss(x) as tf.Scalar, variables);
        const dx = tf.grad((given: tf.Tensor) => loss(given as tf.Tensor2D))(x);
        return [dense(layer, x, args, false).y, dx, ...variables.map(({ name }) => grads[name]!)].map(values);
      });
      actual.forEach((each, i) => expectClose(each, expected[i]!, { rtol: 1e-4, atol: 1e-5 }));
      expect(layer.droppedTokens > 0).toBe(args.capacityFactor !== undefined);
      layer.dispose();
    },
  );
});

async function savedAndLoaded(model: tf.LayersModel): Promise<tf.LayersModel> {
  let saved: tf.io.ModelArtifacts | undefined;
  const handler = tf.io.withSaveHandler((artifacts) => {
    saved = artifacts;
    return Promise.resolve({ modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } });
  });
  await model.save(handler);
  const modelTopology = JSON.parse(JSON.stringify(saved!.modelTopology)) as object;
  return tf.loadLayersModel(tf.io.fromMemory({ ...saved!, modelTopology }));
}

describe('moe', () => {
  beforeAll(async () => void (await tf.setBackend('acc')));

  it('is the MLP of a block, and loads from its configuration', async () => {
    const options = { experts: 3, topK: 1, capacityFactor: 2, jitter: 0.1, sharedExperts: 1 };
    const input = tf.input({ shape: [4, WIDTH] });
    const block = transformerBlock({ heads: 2, moe: options, mlp: 'swiGlu', innerUnits: INNER });
    const model = tf.model({ inputs: input, outputs: block.apply(input) as tf.SymbolicTensor });
    const names = model.weights.map(({ originalName }) => originalName.slice(block.name.length));
    expect(names.filter((name) => name.includes('mlp'))).toEqual([
      '/mlp/router/kernel',
      '/mlp/experts/gate_proj/kernel',
      '/mlp/experts/up_proj/kernel',
      '/mlp/experts/down_proj/kernel',
      '/mlp/shared/gate_proj/kernel',
      '/mlp/shared/up_proj/kernel',
      '/mlp/shared/down_proj/kernel',
    ]);
    const x = wave([2, 4, WIDTH]);
    const y = model.predict(x) as tf.Tensor;
    const loaded = await savedAndLoaded(model);
    expect(Array.from((loaded.predict(x) as tf.Tensor).dataSync())).toEqual(Array.from(y.dataSync()));
    const [, reloaded] = loaded.layers as [unknown, typeof block];
    expect(reloaded.getConfig()['moe']).toMatchObject(options);
  });

  it('jitters in training only', () => {
    const layer = built({ experts: 4, topK: 2, jitter: 0.5 });
    const x = wave([TOKENS, WIDTH]);
    const values = (training: boolean) => Array.from((layer.apply(x, { training }) as tf.Tensor).dataSync());
    expect(values(false)).toEqual(values(false));
    expect(values(true)).not.toEqual(values(true));
  });

  it('multiplies what the router sees by numbers that are uniform from 1 - jitter to 1 + jitter', () => {
    const jitter = 0.3;
    const layer = built({ experts: 4, topK: 2, jitter });
    const { layers } = layer as unknown as { layers: { call(x: tf.Tensor, kwargs: object): tf.Tensor }[] };
    const call = layers[0]!.call.bind(layers[0]);
    let seen: number[] = [];
    layers[0]!.call = (given, kwargs) => {
      seen = Array.from(given.dataSync());
      return call(given, kwargs);
    };
    const x = tf.ones([1000, WIDTH]);
    for (const kwargs of [{ training: false }, {}]) {
      layer.apply(x, kwargs);
      expect(seen).toEqual(Array.from(x.dataSync()));
    }
    layer.apply(x, { training: true });
    const sorted = [...seen].sort((a, b) => a - b);
    const count = sorted.length;
    expect(new Set(seen).size).toBeGreaterThan(0.99 * count);
    expect(sorted[0]).toBeGreaterThanOrEqual(1 - jitter - 1e-6);
    expect(sorted.at(-1)).toBeLessThanOrEqual(1 + jitter + 1e-6);
    // Kolmogorov's distance to the uniform distribution. One of 10⁶ samples has more than 2.7 / √n.
    const distances = sorted.map((factor, i) => Math.abs((factor - 1 + jitter) / (2 * jitter) - i / count));
    expect(Math.max(...distances)).toBeLessThan(2.7 / Math.sqrt(count));
    layer.dispose();
  });

  it('counts assignments, and tells what it adds to the loss', () => {
    const layer = built({ experts: 4, topK: 1, capacityFactor: 1, balanceLoss: 0.5, zLoss: 0.25 });
    expect([layer.tokensPerExpert, layer.droppedTokens, layer.routerLosses]).toEqual([
      [0, 0, 0, 0],
      0,
      undefined,
    ]);
    const x = wave([TOKENS, WIDTH]) as tf.Tensor2D;
    const variables = variablesOf(layer);
    tf.tidy(() => void tf.variableGrads(() => tf.sum(layer.apply(x) as tf.Tensor), variables));
    const counts = layer.tokensPerExpert;
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(TOKENS);
    expect(layer.droppedTokens).toBe(counts.reduce((sum, count) => sum + Math.max(0, count - 4), 0));
    expect(layer.droppedTokens).toBeGreaterThan(0);
    const { extra } = dense(layer, x, { experts: 4, topK: 1, balanceLoss: 0.5, zLoss: 0.25 }, true);
    const { balance, z } = layer.routerLosses!;
    expectClose([balance + z], [extra.dataSync()[0]!], { rtol: 1e-5 });
    const before = tf.memory().numTensors;
    layer.dispose();
    expect(tf.memory().numTensors).toBe(before - variables.length - 1);
  });

  it('keeps figures of a pass, and none of a trial', () => {
    const layer = built({ experts: 4 });
    const x = wave([TOKENS, WIDTH]);
    const run = (isTrial: boolean) => {
      const pass = runForward(() => layer.apply(x) as tf.Tensor, variablesOf(layer), {}, { isTrial });
      const grads = pass.backward([tf.onesLike(x)], 1);
      tf.dispose([...pass.outputs, ...grads.filter((grad) => grad !== null)]);
      expect(pass.addsTerms).toBe(true);
    };
    run(true);
    expect([layer.tokensPerExpert, layer.routerLosses]).toEqual([[0, 0, 0, 0], undefined]);
    run(false);
    expect(layer.tokensPerExpert.reduce((sum, count) => sum + count, 0)).toBe(2 * TOKENS);
    expect(layer.routerLosses).toBeDefined();
    layer.dispose();
  });

  it('leaves no tensor when a model ends that has it in blocks, one of them used by two models', () => {
    const before = tf.memory().numTensors;
    const input = tf.input({ shape: [7, WIDTH] });
    const block = () => transformerBlock({ heads: 2, innerUnits: INNER, moe: { experts: 4 } });
    const [own, shared] = [block(), block()];
    const middle = shared.apply(input) as tf.SymbolicTensor;
    const model = tf.model({ inputs: input, outputs: own.apply(middle) as tf.SymbolicTensor });
    const other = tf.model({ inputs: input, outputs: shared.apply(middle) as tf.SymbolicTensor });
    const variables = model.trainableWeights.map((weight) => weight.read() as tf.Variable);
    tf.tidy(() => {
      const loss = () => tf.sum(model.apply(wave([2, 7, WIDTH])) as tf.Tensor) as tf.Scalar;
      tf.variableGrads(loss, variables);
    });
    model.dispose();
    other.dispose();
    expect(tf.memory().numTensors).toBe(before);
  });

  it('balances experts within 10 %, which they are not without the loss', () => {
    const centre = wave([1, WIDTH], 0.7).mul(0.5);
    const imbalance = (balanceLoss: number): number => {
      const layer = built({ experts: 4, topK: 1, balanceLoss, zLoss: 0 });
      const variables = variablesOf(layer);
      const optimizer = tf.train.adam(0.003);
      let counts = [0, 0, 0, 0];
      for (let i = 0; i < 200; i++) {
        tf.tidy(() => {
          const x = tf.randomNormal([256, WIDTH], 0, 1, 'float32', i).add(centre) as tf.Tensor2D;
          const wanted = tf.sin(tf.mul(x, 2));
          const loss = () => tf.losses.meanSquaredError(wanted, layer.apply(x) as tf.Tensor) as tf.Scalar;
          optimizer.minimize(loss, false, variables);
        });
        if (i >= 170) counts = counts.map((count, expert) => count + layer.tokensPerExpert[expert]!);
      }
      layer.dispose();
      optimizer.dispose();
      const mean = counts.reduce((sum, count) => sum + count, 0) / 4;
      return Math.max(...counts.map((count) => Math.abs(count / mean - 1)));
    };
    expect(imbalance(1)).toBeLessThan(0.1);
    expect(imbalance(0)).toBeGreaterThan(0.3);
  });

  it('adds its losses in fit, once', async () => {
    const weightsAfter = async (args: MoeArgs) => {
      const layer = built(args);
      const model = tf.sequential({ layers: [layer] });
      model.build([null, WIDTH]);
      model.compile({ optimizer: tf.train.sgd(0.1), loss: 'meanSquaredError' });
      const [x, y] = [wave([TOKENS, WIDTH]), wave([TOKENS, WIDTH], 1)];
      const [variables, given] = [variablesOf(layer), { ...args, innerUnits: INNER }];
      const expected = tf.tidy(() => {
        const { grads } = tf.variableGrads(() => {
          const { y: output, extra } = dense(layer, x as tf.Tensor2D, given, true);
          return tf.add(tf.mean(tf.square(tf.sub(output, y))), extra);
        }, variables);
        return variables.map((v) => Array.from(tf.sub(v, tf.mul(grads[v.name]!, 0.1)).dataSync()));
      });
      await model.fit(x, y, { epochs: 1, batchSize: TOKENS, shuffle: false, verbose: 0 });
      variables.forEach((v, i) =>
        expectClose(Array.from(v.dataSync()), expected[i]!, { rtol: 1e-4, atol: 1e-6 }),
      );
    };
    await weightsAfter({ experts: 4, balanceLoss: 0.4, zLoss: 0.3 });
  });

  it.each([
    ['more choices than experts', { experts: 2, topK: 3 }, 'ACC_INVALID_OPTION'],
    ['gates that are always 1', { experts: 2, topK: 1, normalizeGates: true }, 'ACC_INVALID_OPTION'],
    ['no room', { experts: 2, capacityFactor: 0 }, 'ACC_INVALID_OPTION'],
    ['no experts', { experts: 0 }, 'ACC_INVALID_OPTION'],
    ['an option without effect', { experts: 2, mlp: 'swiGlu', activation: 'relu' }, 'ACC_INVALID_OPTION'],
    ['an unknown option', { experts: 2, expert: 2 }, 'ACC_UNKNOWN_OPTION'],
  ])('refuses %s', (_, args, code) => {
    expect(() => moe(args as MoeArgs)).toThrowError(expect.objectContaining({ code }));
  });

  it.each([
    ['more choices than experts', { experts: 2, topK: 3 }],
    ['gates that are always 1', { experts: 2, topK: 1, normalizeGates: true }],
  ])('in a block refuses %s', (_, options) => {
    expect(() => transformerBlock({ heads: 2, moe: options })).toThrowError(
      expect.objectContaining({ code: 'ACC_INVALID_OPTION' }),
    );
  });

  it.each([
    { experts: 2, topK: 1, normalizeGates: false },
    { experts: 1, topK: 1, normalizeGates: true },
  ])('accepts gates of one expert: %j', (options) => {
    expect(() => moe(options)).not.toThrow();
  });

  it('has a row of the README for every option', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const section = readme.split('\n## Mixtures of experts\n')[1]!.split('\n## ')[0]!;
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    const names = rows.flatMap((row) => [...row.split('|')[1]!.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    // tfjs-layers saves the states of a layer's parts in its configuration.
    const options = Object.keys(MOE.shape).filter((name) => name !== 'parts');
    expect(names.sort()).toEqual(options.sort());
  });

  it('refuses an unknown option of a block', () => {
    const args = { heads: 2, moe: { experts: 2, topk: 1 } };
    expect(() => transformerBlock(args as never)).toThrowError(
      expect.objectContaining({ code: 'ACC_UNKNOWN_OPTION' }),
    );
  });
});

describe('routing', () => {
  it('fills experts with first choices, in the order of tokens', () => {
    const choices = [0, 1, 0, 1, 0, 1, 1, 0];
    const routing = new Routing(choices, 4, { experts: 2, capacity: capacityOf(4, 2, 2, 0.75) });
    expect(routing.assigned).toEqual([4, 4]);
    expect(routing.counts).toEqual([3, 3]);
    // First choices are 0, 0, 0, 1, so expert 0 is full; expert 1 has room for two second choices.
    expect([...routing.assignmentOf]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...routing.rowOf]).toEqual([0, 1, 2, 3, 4, 5, -1, -1]);
    expect(routing.dropped).toBe(2);
  });
});
