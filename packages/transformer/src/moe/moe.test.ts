import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { expectClose } from '@acc/testkit';
import { moe, transformerBlock, type MoeArgs } from '../index.js';
import { gelu } from '@acc/kernels';
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
