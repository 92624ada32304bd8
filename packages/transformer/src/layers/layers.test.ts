import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { expectClose } from '@acc/testkit';
import {
  feedForward,
  multiHeadAttention,
  positionEmbedding,
  rmsNormalization,
  rotaryEmbedding,
  swiGlu,
  tokenEmbedding,
  transformerBlock,
} from '../index.js';

beforeAll(() => registerAccBackend());

const BACKENDS = ['acc', 'cpu'] as const;
const [BATCH, LENGTH, WIDTH] = [2, 6, 12];

type Layer = tf.layers.Layer;

const CASES: Readonly<Record<string, () => Layer>> = {
  attention: () => multiHeadAttention({ heads: 3 }),
  'causal attention with shared heads': () => multiHeadAttention({ heads: 6, kvHeads: 2, causal: true }),
  'attention of one matrix, no biases': () =>
    multiHeadAttention({ heads: 2, headDim: 4, fused: true, useBias: false }),
  'attention with rotary positions': () =>
    multiHeadAttention({ heads: 2, rotary: { theta: 100 }, causal: true }),
  'attention with scaled positions': () =>
    multiHeadAttention({ heads: 2, rotary: { scaling: { type: 'linear', factor: 2 } } }),
  rmsNormalization: () => rmsNormalization({ epsilon: 1e-3 }),
  rotaryEmbedding: () => rotaryEmbedding({ theta: 50 }),
  swiGlu: () => swiGlu({ innerUnits: 10, useBias: true }),
  feedForward: () => feedForward({ activation: 'gelu' }),
  positionEmbedding: () => positionEmbedding({ positions: LENGTH, initializerRange: 1 }),
  'a block of GPT-2': () => transformerBlock({ heads: 3, causal: true, fused: true }),
  'a block of Llama': () =>
    transformerBlock({
      heads: 6,
      kvHeads: 3,
      causal: true,
      rotary: true,
      normalization: 'rms',
      mlp: 'swiGlu',
      innerUnits: 20,
    }),
};

/** Numbers that repeat in no dim. */
const wave = (shape: number[], phase = 0): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.add(tf.mul(tf.range(0, tf.util.sizeFromShape(shape)), 1.7), phase)).reshape(shape));

function setWeights(layer: Layer): void {
  layer.weights.forEach((weight, i) => {
    tf.tidy(() => void weight.write(wave(weight.shape as number[], i).mul(0.4)));
  });
}

/** The layer's output, and the gradients of its input and weights. */
function observe(layer: Layer): number[][] {
  return tf.tidy(() => {
    const x = wave([BATCH, LENGTH, WIDTH]);
    const variables = layer.weights.map((weight) => weight.read() as tf.Variable);
    const f = (input: tf.Tensor) => layer.apply(input) as tf.Tensor;
    const dy = wave([BATCH, LENGTH, WIDTH], 3);
    const ofInput = tf.grad((input: tf.Tensor) => f(input).mul(dy).sum())(x);
    const { grads } = tf.variableGrads(
      () => f(x).mul(dy).sum(),
      variables.length > 0 ? variables : [UNUSED()],
    );
    const ofWeights = variables.map(({ name }) => grads[name]!);
    return [f(x), ofInput, ...ofWeights].map((tensor) => Array.from(tensor.dataSync()));
  });
}

/** tfjs refuses to differentiate without variables. */
let unused: tf.Variable | undefined;
const UNUSED = () => (unused ??= tf.variable(tf.scalar(0)));

const rms = (values: readonly number[]) =>
  Math.sqrt(values.reduce((sum, value) => sum + value * value, 0) / values.length);

/** @param size That of the terms that add up to the values, which may be much smaller. */
function expectNear(actual: readonly number[], expected: readonly number[], size = rms(expected)): void {
  expectClose(actual, expected, { rtol: 1e-4, atol: 1e-4 * size });
}

describe.each(Object.entries(CASES))('%s', (_, make) => {
  it('computes and differentiates on acc as on cpu, and leaves no tensors', async () => {
    const seen: number[][][] = [];
    for (const backend of BACKENDS) {
      await tf.setBackend(backend);
      const layer = make();
      layer.apply(tf.input({ shape: [LENGTH, WIDTH] }));
      setWeights(layer);
      if (layer.weights.length > 0) {
        const before = tf.memory().numTensors;
        seen.push(observe(layer));
        expect(tf.memory().numTensors).toBe(before);
      } else {
        seen.push([Array.from((layer.apply(wave([BATCH, LENGTH, WIDTH])) as tf.Tensor).dataSync())]);
      }
      layer.dispose();
    }
    const [onAcc, onCpu] = seen as [number[][], number[][]];
    // Some gradients are zero but for roundings: of biases of keys.
    const size = Math.max(...onCpu.map(rms));
    onAcc.forEach((values, i) => expectNear(values, onCpu[i]!, size));
  });

  it('has the shape that it announces, and loads from its configuration', async () => {
    await tf.setBackend('acc');
    const input = tf.input({ shape: [LENGTH, WIDTH] });
    const layer = make();
    const model = tf.model({ inputs: input, outputs: layer.apply(input) as tf.SymbolicTensor });
    setWeights(layer);
    const x = wave([BATCH, LENGTH, WIDTH]);
    const y = model.predict(x) as tf.Tensor;
    expect(y.shape).toEqual([BATCH, ...(model.outputs[0]!.shape as number[]).slice(1)]);
    let saved: tf.io.ModelArtifacts | undefined;
    await model.save(
      tf.io.withSaveHandler((artifacts) => {
        saved = artifacts;
        return Promise.resolve({ modelArtifactsInfo: { dateSaved: new Date(), modelTopologyType: 'JSON' } });
      }),
    );
    const topology = JSON.parse(JSON.stringify(saved!.modelTopology)) as object;
    const loaded = await tf.loadLayersModel(tf.io.fromMemory({ ...saved!, modelTopology: topology }));
    expect(loaded.weights.map(({ originalName }) => originalName)).toEqual(
      model.weights.map(({ originalName }) => originalName),
    );
    const again = loaded.predict(x) as tf.Tensor;
    expect(Array.from(again.dataSync())).toEqual(Array.from(y.dataSync()));
  });
});

describe('attention', () => {
  const attend = (args: object, x: tf.Tensor[]) => {
    const layer = multiHeadAttention({
      heads: 2,
      name: `attention_${Math.abs(JSON.stringify(args).length)}`,
      ...args,
    });
    layer.apply(tf.input({ shape: [null, WIDTH] }));
    setWeights(layer);
    return { layer, y: layer.apply(x) as tf.Tensor };
  };

  it.each(BACKENDS)('hides keys by a second input and by a computed mask, on %s', async (backend) => {
    await tf.setBackend(backend);
    const x = wave([1, 5, WIDTH]);
    const mask = tf.tensor2d([[1, 1, 1, 0, 0]]);
    const { layer, y } = attend({ causal: false }, [x, mask]);
    const short = layer.apply(tf.slice(x, [0, 0, 0], [1, 3, WIDTH])) as tf.Tensor;
    const seen = tf.slice(y, [0, 0, 0], [1, 3, WIDTH]);
    expectNear(Array.from(seen.dataSync()), Array.from(short.dataSync()));
    const computed = layer.apply(x, { mask: tf.cast(mask, 'bool') }) as tf.Tensor;
    expectNear(Array.from(computed.dataSync()), Array.from(y.dataSync()));
  });

  it('of several queries per head of keys equals one with repeated heads', async () => {
    await tf.setBackend('acc');
    const x = wave([2, 5, WIDTH]);
    const shared = attend({ heads: 4, kvHeads: 2, useBias: false }, [x]);
    const repeated = attend({ heads: 4, useBias: false, dropout: 0 }, [x]);
    const [q, k, v, o] = shared.layer.weights.map((weight) => weight.read());
    const twice = (kernel: tf.Tensor) =>
      tf.tile(kernel.reshape([WIDTH, 2, 1, 3]), [1, 1, 2, 1]).reshape([WIDTH, WIDTH]);
    repeated.layer.setWeights([q!, twice(k!), twice(v!), o!]);
    const y = repeated.layer.apply(x) as tf.Tensor;
    expectNear(Array.from(shared.y.dataSync()), Array.from(y.dataSync()));
  });
});

describe('a layer refuses', () => {
  const built = (layer: Layer) => layer.apply(tf.input({ shape: [null, WIDTH] }));
  it.each<[string, () => unknown, string]>([
    ['a misspelt option', () => multiHeadAttention({ heads: 2, kvheads: 1 } as never), 'ACC_UNKNOWN_OPTION'],
    ['no heads', () => multiHeadAttention({} as never), 'ACC_INVALID_OPTION'],
    ['heads that do not divide', () => multiHeadAttention({ heads: 4, kvHeads: 3 }), 'ACC_INVALID_OPTION'],
    ['a width that heads cannot share', () => built(multiHeadAttention({ heads: 5 })), 'ACC_SHAPE_MISMATCH'],
    [
      'an unknown scaling',
      () => rotaryEmbedding({ scaling: { type: 'yarn' } as never }),
      'ACC_INVALID_OPTION',
    ],
    ['no inner width', () => swiGlu({} as never), 'ACC_INVALID_OPTION'],
    [
      'too many positions',
      () => positionEmbedding({ positions: 2 }).apply(tf.ones([1, 3, 4])),
      'ACC_SEQUENCE_TOO_LONG',
    ],
    [
      'a mask of another rank',
      () => multiHeadAttention({ heads: 2 }).apply([tf.ones([1, 3, 4]), tf.ones([1, 1, 1, 3])]),
      'ACC_SHAPE_MISMATCH',
    ],
  ])('%s', (_, act, code) => {
    expect(act).toThrowError(expect.objectContaining({ code }));
  });
});

it('a misspelt option inside of another one comes with the known ones', () => {
  const block = (moe: object) => transformerBlock({ heads: 2, moe: { experts: 4, ...moe } } as never);
  const known = expect.arrayContaining(['experts', 'topK']);
  expect(() => block({ topk: 1 })).toThrowError(
    expect.objectContaining({
      code: 'ACC_UNKNOWN_OPTION',
      help: "Did you mean 'topK'?",
      details: { where: 'transformerBlock.moe', key: 'topk', nearest: 'topK', known },
    }),
  );
});

it('an embedding gives rows of tokens, and logits of what is not tokens', async () => {
  await tf.setBackend('acc');
  const layer = tokenEmbedding({ vocabularySize: 5, units: 3, initializerRange: 1 });
  const rows = layer.apply(tf.tensor2d([[4, 1]], [1, 2], 'int32')) as tf.Tensor;
  const table = layer.weights[0]!.read();
  expect(Array.from(rows.dataSync())).toEqual(Array.from(tf.gather(table, [4, 1]).dataSync()));
  const logits = layer.apply(rows) as tf.Tensor;
  expect(logits.shape).toEqual([1, 2, 5]);
  const products = tf.matMul(rows.reshape([2, 3]), table as tf.Tensor2D, false, true);
  expectNear(Array.from(logits.dataSync()), Array.from(products.dataSync()));
});
