import * as tf from '@tensorflow/tfjs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Accelerator } from '../accelerator.js';

let accelerator: Accelerator;
let warn: ReturnType<typeof vi.spyOn>;
beforeEach(async () => {
  warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  accelerator = await Accelerator.create({ engine: 'acc' });
});
afterEach(() => {
  vi.restoreAllMocks();
  accelerator.freeMemory();
});

const doubled = (x: tf.Tensor): tf.Tensor => x.mul(2);

function loop(times: number, calls: (i: number) => number): void {
  for (let i = 0; i < times; i++) {
    const step = accelerator.compile(doubled);
    for (let call = 0; call < calls(i); call++) tf.tidy(() => void step(tf.scalar(1)));
  }
}

it('warns once if a loop compiles its step anew', () => {
  loop(8, () => 1);
  expect(warn).not.toHaveBeenCalled();
  loop(20, () => 1);
  expect(warn).toHaveBeenCalledOnce();
  expect(warn).toHaveBeenCalledWith(
    expect.stringContaining('compile was called 9 times, and each step was called once'),
  );
});

it.each<[string, (i: number) => number]>([
  ['are called later', () => 0],
  ['are called twice', () => 2],
  ['are called once, but for some', (i) => (i % 8 === 0 ? 3 : 1)],
])('does not warn of many steps that %s', (_, calls) => {
  loop(30, calls);
  expect(warn).not.toHaveBeenCalled();
});
