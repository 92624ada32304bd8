import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Fusion, Recording } from '@acc/contract';
import { operatorWithResults } from '@acc/native';
import type { AccBackend } from '../../../backend.js';
import { StepRecorder } from '../../../recording/recorder.js';
import { registerAccBackend } from '../../../register-backend.js';

// Attention in plain operators, as recorded steps give it, beside the same step without fusion.

const hasFastAttention = operatorWithResults('acc::has_fast_attention');

let recorder: StepRecorder;
beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  recorder = new StepRecorder(tf.backend() as AccBackend);
});

const [B, H, T, S, D] = [2, 3, 40, 70, 16] as const;
const HEADS = [B, H, T, D];

type Attention = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor) => tf.Tensor;

interface Shapes {
  readonly q?: readonly number[];
  readonly kv?: readonly number[];
  readonly mask?: readonly number[];
}

function argumentsOf({ q = HEADS, kv = HEADS, mask = [T, T] }: Shapes, seed: number): tf.Tensor[] {
  const random = (shape: readonly number[], i: number): tf.Tensor =>
    tf.randomNormal([...shape], 0, 1, 'float32', seed + i);
  const [first, ...others] = [q, kv, kv].map(random) as [tf.Tensor, tf.Tensor, tf.Tensor];
  const dy = random([...q.slice(0, -1), kv.at(-1)!], 3);
  return [first, ...others, dy, random(mask, 4).mul(2)];
}

/** The attention, and what its gradients give to q, k and v. */
const withGradients =
  (attend: Attention) =>
  ([q, k, v, dy, mask]: readonly tf.Tensor[]): tf.Tensor[] => {
    const { value, grads } = tf.valueAndGrads((...[a, b, c]: tf.Tensor[]) => attend(a!, b!, c!, mask!))(
      [q!, k!, v!],
      dy,
    );
    return [value, ...grads];
  };

type Step = (args: readonly tf.Tensor[]) => tf.Tensor[];

/** The values of a replay with other arguments than the step was recorded with. */
function replayed(
  step: Step,
  shapes: Shapes,
  fusion: Fusion,
): { values: Float32Array[]; explanation: string } {
  return tf.tidy(() => {
    const args = argumentsOf(shapes, 1);
    const recording = recorder.record(args, () => tf.tidy(() => step(args))).recording as Recording;
    recording.seal(fusion);
    const results = recording.replay(argumentsOf(shapes, 100));
    if (results instanceof Error) throw results;
    const values = results.map((x) => x.dataSync<'float32'>());
    const { explanation } = recording;
    recording.dispose();
    return { values, explanation };
  });
}

/** Relative to the largest element, for sums in another order. */
const TOLERANCE = 2e-6;

function expectNear(actual: Float32Array, expected: Float32Array): void {
  expect(actual).toHaveLength(expected.length);
  const largest = Math.max(...expected.map(Math.abs));
  const difference = Math.max(...expected.map((value, j) => Math.abs(value - actual[j]!)));
  expect(difference / largest).toBeLessThan(TOLERANCE);
}

function expectReplaced(step: Step, shapes: Shapes, text: string): void {
  const fused = replayed(step, shapes, true);
  const plain = replayed(step, shapes, false);
  expect(fused.explanation).toContain(`  1 × flash attention of ${text}`);
  plain.values.forEach((values, i) => expectNear(fused.values[i]!, values));
}

const scaled = (q: tf.Tensor, k: tf.Tensor): tf.Tensor => tf.matMul(q, k, false, true).mul(1 / Math.sqrt(D));
const causalMask = (length: number = T): tf.Tensor =>
  tf.linalg
    .bandPart(tf.ones([length, length]), -1, 0)
    .sub(1)
    .mul(1e9);

const causal: Attention = (q, k, v) => tf.matMul(tf.softmax(scaled(q, k).add(causalMask(q.shape.at(-2)))), v);
/** Each query sees keys that are near. */
const windowed: Attention = (q, k, v) => {
  const length = q.shape.at(-2)!;
  const isSeen = tf.linalg.bandPart(tf.ones([length, length]), 5, 5);
  return tf.matMul(tf.softmax(scaled(q, k).add(isSeen.sub(1).mul(1e9))), v);
};
const masked: Attention = (q, k, v, mask) => tf.matMul(tf.softmax(scaled(q, k).add(mask)), v);

const FORMS: readonly [name: string, attend: Attention, shapes: Shapes, restriction: string][] = [
  ['with a causal mask', causal, {}, 'causal'],
  ['with a mask of each sample', masked, { mask: [B, 1, 1, T] }, 'with a mask'],
  ['with a mask of each head', masked, { mask: [H, T, T] }, 'with a mask'],
  [
    'with the mask on the left, and a root as divisor',
    (q, k, v, mask) => tf.matMul(tf.softmax(mask.add(tf.matMul(q, k, false, true).div(tf.sqrt(D)))), v),
    {},
    'with a mask',
  ],
  [
    'with other keys than queries, whose constant mask is not causal',
    (q, k, v) =>
      tf.matMul(
        tf.softmax(
          scaled(q, k).add(
            tf.linalg
              .bandPart(tf.ones([T, S]), -1, 0)
              .sub(1)
              .mul(1e9),
          ),
        ),
        v,
      ),
    { kv: [B, H, S, D] },
    'with a mask',
  ],
  [
    'without a mask or a scale',
    (q, k, v) => tf.matMul(tf.softmax(tf.matMul(q, k, false, true)), v),
    {},
    'without a mask',
  ],
  [
    'with keys that were transposed before',
    (q, k, v) => tf.matMul(tf.softmax(tf.matMul(q, k.transpose([0, 1, 3, 2])).mul(0.3)), v),
    {},
    'without a mask',
  ],
  ['on lists of heads', masked, { q: [B * H, T, D], kv: [B * H, T, D] }, 'with a mask'],
  [
    'on heads that lie side by side',
    (q, k, v, mask) => {
      const [a, b, c] = [q, k, v].map((x) => x.reshape([B, T, H, D]).transpose([0, 2, 1, 3])) as [
        tf.Tensor,
        tf.Tensor,
        tf.Tensor,
      ];
      return masked(a, b, c, mask)
        .transpose([0, 2, 1, 3])
        .reshape([B, T, H * D]);
    },
    { q: [B, T, H * D], kv: [B, T, H * D] },
    'with a mask',
  ],
];

describe('attention becomes flash attention', () => {
  it.each(FORMS)('%s', (_, attend, shapes, restriction) => {
    expectReplaced(withGradients(attend), shapes, '');
    expectReplaced(([q, k, v, , mask]) => [attend(q!, k!, v!, mask!)], shapes, '');
    const { explanation } = replayed(withGradients(attend), shapes, true);
    expect(explanation).toContain(`${restriction}, forward and backward`);
    expect(explanation).not.toMatch(/bmm|softmax/);
  });

  it.each([['q'], ['k'], ['v']])('with a gradient of %s alone', (name) => {
    const place = ['q', 'k', 'v'].indexOf(name);
    const step: Step = ([q, k, v, dy, mask]) => {
      const qkv = [q!, k!, v!];
      const ofOne = tf.valueAndGrad((x: tf.Tensor) => {
        const [a, b, c] = qkv.with(place, x) as [tf.Tensor, tf.Tensor, tf.Tensor];
        return masked(a, b, c, mask!);
      });
      const { value, grad } = ofOne(qkv[place]!, dy);
      return [value, grad];
    };
    expectReplaced(step, {}, `float32[${HEADS.join()}], with a mask, forward and backward`);
  });

  it('twice in one step, and only once in one that is exact', () => {
    const step: Step = ([q, k, v, , mask]) => [causal(k!, q!, masked(q!, k!, v!, mask!), mask!)];
    const { explanation, values } = replayed(step, {}, true);
    expect(explanation.match(/× flash attention/g)).toHaveLength(2);
    expect(values[0]!.every(Number.isFinite)).toBe(true);
    const exact = replayed(step, {}, 'exact');
    expect(exact.explanation).not.toContain('flash');
    expect(exact.values).toEqual(replayed(step, {}, false).values);
  });
});

it.each([
  ['causal', causal],
  ['windowed', windowed],
])('one recording serves several lengths, each with its own constant mask: %s', (_, attend) => {
  const step = withGradients(attend);
  const shapesOf = (length: number): Shapes => ({
    q: [B, H, length, D],
    kv: [B, H, length, D],
    mask: [length, length],
  });
  const [first, second] = [T, 24].map((length) => {
    const args = argumentsOf(shapesOf(length), 1);
    return recorder.record(args, () => tf.tidy(() => step(args))).recording as Recording;
  }) as [Recording, Recording];
  first.seal(true);
  expect(second.shareCallsOf(first, true)).toBeDefined();
  for (const [recording, length] of [
    [first, T],
    [second, 24],
    [first, T],
  ] as const) {
    const plain = replayed(step, shapesOf(length), false);
    const results = recording.replay(argumentsOf(shapesOf(length), 100)) as tf.Tensor[];
    results.forEach((x, i) => expectNear(x.dataSync<'float32'>(), plain.values[i]!));
  }
  first.dispose();
  second.dispose();
});

type NearMiss = readonly [name: string, step: Step, reason: RegExp];

const NEAR_MISSES: readonly NearMiss[] = [
  [
    'whose probabilities are a result',
    ([q, k, v]) => {
      const p = tf.softmax(scaled(q!, k!));
      return [p, tf.matMul(p, v!)];
    },
    /a result of its _softmax is a result of the step/,
  ],
  [
    'whose probabilities are taken by something else',
    ([q, k, v]) => {
      const p = tf.softmax(scaled(q!, k!));
      return [tf.matMul(p, v!), p.sum()];
    },
    /probabilities are also taken by sum/,
  ],
  [
    'whose scores are taken by something else',
    ([q, k, v]) => {
      const scores = scaled(q!, k!);
      return [tf.matMul(tf.softmax(scores), v!), scores.max()];
    },
    /a result of its mul is also taken by amax|a result of its mul is also taken by max/,
  ],
  [
    'with dropout',
    ([q, k, v]) => [tf.matMul(tf.dropout(tf.softmax(scaled(q!, k!)), 0.5, undefined, 3), v!)],
    /\(dropout, for example\)/,
  ],
  ['over the queries', ([q, k, v]) => [tf.matMul(softmaxOver(scaled(q!, k!), 2), v!)], /not over the keys/],
  [
    'with transposed probabilities',
    ([q, k, v]) => [tf.matMul(tf.softmax(scaled(q!, k!)), v!, true)],
    /not to one product with values/,
  ],
  [
    'with a mask that is scaled',
    ([q, k, v, , mask]) => [tf.matMul(tf.softmax(tf.matMul(q!, k!, false, true).add(mask!).mul(0.3)), v!)],
    /its mask is multiplied/,
  ],
  [
    'with two masks',
    ([q, k, v, , mask]) => [tf.matMul(tf.softmax(scaled(q!, k!).add(mask!).add(causalMask())), v!)],
    /more than one mask/,
  ],
  ...([true, false] as const).map((isChosen): NearMiss => [
    `with a mask of other dims than its softmax, ${isChosen ? 'chosen' : 'added'}`,
    ([q, k, v]) => {
      const lists = [q!, k!, v!].map((x) => x.reshape([B * H, T, D]));
      const products = tf.matMul(lists[0]!, lists[1]!, false, true).reshape([B, H, T, T]);
      const sees = tf.range(0, T).less(tf.tensor([T, T / 2], [B, 1, 1, 1]));
      const scores = isChosen
        ? tf.where(sees.logicalAnd(q!.max().less(1e9)), products, tf.scalar(-1e9))
        : products.add(sees.cast('float32').sub(1).mul(q!.max().mul(1e9)));
      return [tf.matMul(tf.softmax(scores.reshape([B * H, T, T])), lists[2]!)];
    },
    /its mask has other dims than its softmax/,
  ]),
  [
    'with a gradient of the mask',
    ([q, k, v, dy, mask]) => {
      const { value, grads } = tf.valueAndGrads((a: tf.Tensor, m: tf.Tensor) => masked(a, k!, v!, m))(
        [q!, mask!],
        dy,
      );
      return [value, ...grads];
    },
    /gradient of its scores is also taken by sum/,
  ],
];

/** tfjs's softmax is over the last axis only. */
function softmaxOver(x: tf.Tensor, dim: number): tf.Tensor {
  return tf.engine().runKernel('Softmax', { logits: x }, { dim });
}

describe('attention is kept', () => {
  it.each(NEAR_MISSES)('%s', (_, step, reason) => {
    const { explanation, values } = replayed(step, {}, true);
    expect(explanation).toContain('patterns that were kept:');
    expect(explanation).toMatch(reason);
    expect(explanation).not.toContain('flash');
    const plain = replayed(step, {}, 'exact');
    values.forEach((each, i) =>
      each.forEach((value, j) => expect(value).toBeCloseTo(plain.values[i]![j]!, 3)),
    );
  });

  it('with few keys for the width of its heads, where the CPU has no fast attention to these', () => {
    const step: Step = ([q, k, v]) => [tf.matMul(tf.softmax(scaled(q!, k!)), v!)];
    const explanationOf = (keys: number, width: number): string => {
      const [q, kv] = [T, keys].map((length) => [B, H, length, width]) as [number[], number[]];
      return replayed(step, { q, kv }, true).explanation;
    };
    expect(explanationOf(2 * 8, 8)).toContain('its products are faster on this CPU');
    expect(explanationOf(2 * 8 + 1, 8)).toContain('flash attention');
    const [isFast] = hasFastAttention('float32', D);
    expect(explanationOf(2 * D, D)).toContain(isFast ? 'flash attention' : 'its products are faster');
  });
});
