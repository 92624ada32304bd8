import {
  fill,
  matMul,
  ones,
  tensor2d,
  tidy,
  variable,
  type Rank,
  type Variable,
} from '@tensorflow/tfjs-core';
import type { Accelerator } from '../index.js';
import type { Check } from './check.js';

/** A number that is not of the type, and the nearest one that is. */
const ROUNDED: Readonly<Record<string, readonly [number, number]>> = {
  bf16: [257, 256],
  fp16: [2049, 2048],
  int8: [257, 256],
  fp8: [257, 256],
};

/** A number beside 1 in a row, and what rounding to 8 bits makes of it: its product by 1. */
const SMALL = 0.003;
const ROUNDED_TO_8: Readonly<Record<string, number>> = {
  int8: 0,
  // 1.375 is the e4m3 nearest to 0.003 · 448.
  fp8: 1.375 / 448,
};
/** Half a step of bfloat16. */
const TOLERANCE = 2 ** -8;

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
    const narrow = ROUNDED_TO_8[plan.mixedPrecision];
    if (narrow === undefined) return { note: `products compute in ${plan.mixedPrecision}` };
    const found = productOfWeight(accelerator);
    if (Math.abs(found - narrow) > TOLERANCE * narrow)
      return { problem: `0.003 by a weight of 1 gave ${found}, and ${narrow} in ${plan.mixedPrecision}` };
    return { note: `products of weights compute in ${plan.mixedPrecision}, others in bf16` };
  },
};

/** The product of the row 1, 0.003 by a prepared weight, which only the second number reaches. */
function productOfWeight(accelerator: Accelerator): number {
  const weight = tidy(() => variable(tensor2d([[0], [1]])));
  try {
    const prepared = accelerator.prepare([weight])[0]!;
    return tidy(
      () =>
        accelerator
          .autocast(() => matMul(tensor2d([[1, SMALL]]), prepared as Variable<Rank.R2>))
          .dataSync()[0]!,
    );
  } finally {
    weight.dispose();
  }
}
