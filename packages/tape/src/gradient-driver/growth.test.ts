import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { memoryStats, resetPeakMemory, setNumThreads } from '@acc/native';
import { installGradientDriver } from './driver.js';
import { engineInternals, type TapeNode } from '@acc/tfjs-internals';

const LAYERS = 20;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  setNumThreads(1);
});

let restore: (() => void) | undefined;
afterEach(() => {
  restore?.();
  restore = undefined;
});

const drive = () => (restore = installGradientDriver({ begin: () => undefined }));

interface Network {
  readonly weights: tf.Variable[];
  loss(): tf.Scalar;
}

const variables = (count: number, shape: number[]): tf.Variable[] =>
  Array.from({ length: count }, (_, i) => tf.variable(tf.randomNormal(shape, 0, 0.1, 'float32', i)));

const NETWORKS: Record<string, () => Network> = {
  dense: () => {
    const weights = variables(LAYERS, [64, 64]);
    const x = tf.ones([512, 64]);
    return {
      weights,
      loss: () => weights.reduce((h: tf.Tensor, w) => tf.tidy(() => tf.relu(tf.matMul(h, w))), x).mean(),
    };
  },
  'convolutional, with batch normalisation': () => {
    const filters = variables(LAYERS, [3, 3, 8, 8]);
    const scales = variables(LAYERS, [8]);
    const x = tf.ones([4, 32, 32, 8]);
    const layer = (h: tf.Tensor, i: number) =>
      tf.tidy(() => {
        const y = tf.conv2d(h as tf.Tensor4D, filters[i] as tf.Tensor4D, 1, 'same');
        const { mean, variance } = tf.moments(y, [0, 1, 2]) as Record<string, tf.Tensor1D>;
        return tf.relu(tf.batchNorm(y, mean!, variance!, tf.zeros([8]), scales[i] as tf.Tensor1D));
      });
    return {
      weights: [...filters, ...scales],
      loss: () => filters.reduce((h: tf.Tensor, _, i) => layer(h, i), x).mean(),
    };
  },
};

/** The peak of native bytes in a step, relative to the bytes before it. */
function peakBytes({ weights, loss }: Network): number {
  const step = () => {
    const { value, grads } = tf.variableGrads(loss, weights);
    tf.dispose([value, grads]);
  };
  step();
  const { allocatedBytes } = memoryStats();
  resetPeakMemory();
  step();
  return memoryStats().peakAllocatedBytes - allocatedBytes;
}

describe('peak memory', () => {
  it.each(Object.entries(NETWORKS))(
    "of 20 layers is at most 60 % of that of tfjs's own walk: %s",
    (_, make) => {
      const network = make();
      const own = peakBytes(network);
      drive();
      const driven = peakBytes(network);
      expect(driven / own).toBeLessThan(0.6);
      tf.dispose(network.weights);
    },
  );
});

/** How often the walk reads a tape of `count` operators, and how many tensors it makes. */
function work(count: number): { looks: number; tensors: number } {
  const engine = engineInternals();
  let looks = 0;
  let before = 0;
  const counted = (node: TapeNode): TapeNode =>
    new Proxy(node, {
      get: (target, key) => {
        looks++;
        return Reflect.get(target, key) as unknown;
      },
    });
  const x = tf.scalar(0.5);
  const gradient = tf.grad((t) => {
    let y = t;
    // One input that is used many times, and one that is used once.
    for (let i = 0; i < count; i++) y = y.mul(t).sin();
    engine.state.activeTape!.forEach((node, i, tape) => (tape[i] = counted(node)));
    before = nextId();
    return y;
  })(x);
  const tensors = nextId() - before;
  tf.dispose([x, gradient]);
  return { looks, tensors };
}

/** The id of the next tensor: tfjs numbers its tensors. */
function nextId(): number {
  const probe = tf.scalar(0);
  probe.dispose();
  return probe.id;
}

describe('the time of the backward walk', () => {
  it('grows linearly with the tape', () => {
    drive();
    const [first, second, fourth] = [work(100), work(200), work(400)] as const;
    expect(first.looks).toBeGreaterThan(400);
    expect(fourth.looks - second.looks).toBe(2 * (second.looks - first.looks));
    expect(fourth.tensors - second.tensors).toBe(2 * (second.tensors - first.tensors));
  });
});
