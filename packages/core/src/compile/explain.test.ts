import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CompiledStep, CompileOptions } from '@acc/compile';
import { Accelerator } from '../accelerator.js';
import { linesOf } from './testing.js';

let accelerator: Accelerator;
beforeEach(async () => {
  accelerator = await Accelerator.create({ engine: 'acc', seed: 1 });
});
afterEach(() => accelerator.freeMemory());

const lineWith = linesOf(import.meta.url);

/** A step of one training, and the explanation of its replays. */
function trained(options: CompileOptions): { step: CompiledStep<[tf.Tensor2D], tf.Scalar>; text: string } {
  const weight = tf.variable<tf.Rank.R2>(tf.randomNormal([8, 8], 0, 1, 'float32', 3));
  const optimizer = tf.train.sgd(0.01);
  accelerator.prepare(optimizer);
  const step = accelerator.compile((x: tf.Tensor2D) => {
    const loss = (): tf.Scalar => {
      const h = tf.matMul(x, weight as unknown as tf.Tensor2D); // the product
      return h.sigmoid().mul(h).tanh().sum(); // the program
    };
    return optimizer.minimize(loss, true, [weight])!;
  }, options);
  const x = tf.randomNormal<tf.Rank.R2>([16, 8], 0, 1, 'float32', 5);
  for (let i = 0; i < 6; i++) step(x).dispose();
  expect(step.replays).toBe(3);
  return { step, text: step.explain() };
}

/** The lines of `text` from the first one that matches to the next line of a call. */
function rowOf(text: string, what: RegExp): string {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => what.test(line));
  expect(first, `${what} in ${text}`).toBeGreaterThanOrEqual(0);
  const next = lines.findIndex((line, i) => i > first && / ms /.test(line));
  return lines.slice(first, next < 0 ? undefined : next).join('\n');
}

it('names the lines of the program of a fused program, of its gradient and of single operators', () => {
  const { text } = trained({ fuse: true });
  const [product, program] = [lineWith('the product'), lineWith('the program')];
  expect(rowOf(text, /fused .*: sigmoid mul tanh/)).toContain(`at ${program}`);
  expect(rowOf(text, /fused .*: .*tanh_backward/)).toContain(`gradient of ${program}`);
  expect(rowOf(text, /1 × (mm|.*linear.*), float32\[16,8\]/)).toContain(`at ${product}`);
  expect(rowOf(text, /1 × (mm|.*linear.*), float32\[8,8\]/)).toContain(`at gradient of ${product}`);
  expect(text).toMatch(/× matrix products and convolutions/);
});

it('explains steps that fuse nothing in the same way', () => {
  const { text } = trained({ fuse: false });
  expect(rowOf(text, / × tanh, float32\[16,8\]/)).toContain(`at ${lineWith('the program')}`);
  expect(text).not.toContain('× fused');
});

it('names the arguments of a recording, and what else it depends on', async () => {
  expect(trained({}).text).toMatch(/^Arguments \[float32\[16,8\]\]\n/);
  accelerator.freeMemory();
  const amp = { lossScale: { initial: 1024 } };
  accelerator = await Accelerator.create({ engine: 'acc', mixedPrecision: 'fp16', amp });
  expect(trained({}).text).toMatch(/^Arguments \[float32\[16,8\]\], loss scale 1024\n/);
});

it('states times whose sum is the time of a replay', () => {
  const { text } = trained({ fuse: true });
  const lines = text.split('\n');
  const total = Number(/A replay takes ([\d.]+) ms/.exec(text)![1]);
  const from = lines.findIndex((line) => line.startsWith('A replay takes'));
  const to = lines.findIndex((line) => line.startsWith('calls, those'));
  const timesIn = (rows: readonly string[]) =>
    rows.flatMap((line) => (/^ +([\d.]+) ms/.exec(line) ? [Number(RegExp.$1)] : []));
  const [parts, calls] = [timesIn(lines.slice(from + 1, to)), timesIn(lines.slice(to + 1))];
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
  expect(calls.length).toBeGreaterThan(4);
  expect(parts.every((ms) => ms >= 0)).toBe(true);
  // Each number is rounded to 0.001 ms.
  expect(Math.abs(sum(parts) - total)).toBeLessThan(0.001 * (parts.length + 1));
  expect(sum(calls)).toBeLessThan(total);
});

it('says nothing of times before the first replay', () => {
  const step = accelerator.compile((x: tf.Tensor) => x.add(1).tanh(), { fuse: true });
  for (let i = 0; i < 3; i++) step(tf.ones([4])).dispose();
  expect(step.replays).toBe(0);
  expect(step.explain()).toMatch(/No replay was timed yet[^]*1 × fused float32\[4\], 1 in, 1 out: add tanh/);
});
