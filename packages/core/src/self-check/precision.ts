import { fill, matMul, ones, tidy } from '@tensorflow/tfjs-core';
import type { Check } from './check.js';

/** A number that is not of the type, and the nearest one that is. */
const ROUNDED: Readonly<Record<string, readonly [number, number]>> = {
  bf16: [257, 256],
  fp16: [2049, 2048],
  int8: [257, 256],
};

/** With mixed precision, a product computes in 16 bits. */
export const precisionCheck: Check = {
  name: 'mixed precision',
  run: ({ accelerator, plan }) => {
    const [given, expected] = ROUNDED[plan.mixedPrecision] ?? [];
    if (given === undefined) return { leftOut: `mixedPrecision is '${plan.mixedPrecision}'` };
    const product = tidy(() => {
      const x = accelerator.autocast(() => matMul(fill([1, 1], given), ones([1, 1])));
      return x.dataSync()[0];
    });
    if (product !== expected)
      return { problem: `${given} · 1 gave ${product}, and ${expected} in ${plan.mixedPrecision}` };
    // Here, no factor is a weight, and only products of weights compute in 8 bits.
    const name = plan.mixedPrecision === 'int8' ? 'bf16 where no factor is a weight' : plan.mixedPrecision;
    return { note: `products compute in ${name}` };
  },
};
