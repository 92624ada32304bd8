import * as tf from '@tensorflow/tfjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setSeed } from '@acc/native';
import { registerAccBackend } from '../register-backend.js';
import { dropout } from './dropout.js';

const COUNT = 40_001;
let x: tf.Tensor;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  x = tf.range(1, COUNT + 1).reshape([-1, 1]);
});
afterAll(() => x.dispose());

const draw = (rate: number): Float32Array =>
  tf.tidy(() => dropout(x, rate).div(x).dataSync()) as Float32Array;

describe('dropout', () => {
  it.each([0.001, 0.1, 0.5, 0.9, 0.9999999])(
    'drops elements with probability %d and scales the others',
    (rate) => {
      const factors = draw(rate);
      const chance = Math.max(1, Math.round((1 - rate) * 65536)) / 65536;
      const kept = factors.filter((factor) => factor !== 0);
      kept.forEach((factor) => expect(Math.abs(factor * chance - 1)).toBeLessThan(1e-6));
      const deviation = Math.sqrt(COUNT * chance * (1 - chance));
      expect(Math.abs(kept.length - COUNT * chance)).toBeLessThan(5 * deviation + 1);
    },
  );

  it('draws for each element independently', () => {
    const kept = Array.from(draw(0.5), (factor) => Number(factor !== 0));
    for (const lag of [1, 2, 3, 4, 8, 64]) {
      const same = kept.slice(lag).filter((value, i) => value === kept[i]).length;
      expect(Math.abs(same / (COUNT - lag) - 0.5)).toBeLessThan(0.015);
    }
  });

  it('drops the same elements in the gradient', () => {
    tf.tidy(() => {
      let value: tf.Tensor | undefined;
      const dx = tf.grad((t) => {
        value = tf.keep(dropout(t, 0.3));
        return value.sum();
      })(x);
      expect(dx.mul(x).sub(value!).abs().max().dataSync()[0]).toBeLessThan(0.02);
      value!.dispose();
    });
  });

  it('has second gradients with the same mask', () => {
    tf.tidy(() => {
      const first = (t: tf.Tensor) => tf.grad((u) => dropout(u, 0.5).square().sum())(t);
      const second = tf.grad((t) => first(t).sum())(x);
      expect(new Set(second.dataSync())).toEqual(new Set([0, 8]));
    });
  });

  it("is reproducible with a seed of libtorch's generator, and differs without", () => {
    setSeed(3);
    const [first, second] = [draw(0.5), draw(0.5)];
    setSeed(3);
    expect(draw(0.5)).toEqual(first);
    expect(second).not.toEqual(first);
  });

  it("draws with tfjs's generator if a seed is given", () => {
    const [ours, own] = [dropout(x, 0.4, { seed: 7 }), tf.dropout(x, 0.4, undefined, 7)];
    expect(ours.dataSync()).toEqual(own.dataSync());
  });

  it('returns x unchanged outside of training, and at rate 0', () => {
    expect(dropout(x, 0.4, { training: false }).dataSync()).toEqual(x.dataSync());
    expect(dropout(x, 0).dataSync()).toEqual(x.dataSync());
  });

  it.each<[string, () => unknown, string]>([
    ['a rate of 1', () => dropout(x, 1), 'ACC_INVALID_ARGUMENT'],
    ['no number', () => dropout(x, NaN), 'ACC_INVALID_ARGUMENT'],
    ['integers', () => dropout(tf.scalar(1, 'int32'), 0.5), 'ACC_DTYPE_UNSUPPORTED'],
    ['an unknown option', () => dropout(x, 0.5, { sed: 1 } as object), 'ACC_UNKNOWN_OPTION'],
  ])('refuses %s', (_, run, code) => {
    expect(run).toThrow(expect.objectContaining({ code }));
  });
});
