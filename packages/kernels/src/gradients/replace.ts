import { getGradient, type GradConfig } from '@tensorflow/tfjs-core';
import { replaceGradient } from '@acc/tfjs-internals';
import { productGradient, quotientGradient } from './constant-factor.js';
import { meanGradient } from './mean.js';
import { ONE_PASS, onePassGradient } from './one-pass.js';
import { powGradient } from './pow.js';
import { SHAPES_SUFFICE, withoutValues } from './saved-shapes.js';
import { sumGradient } from './sum.js';
import { tileGradient } from './tile.js';

/** Functions from tfjs's gradient to ours, by kernel. */
const REPLACEMENTS: Readonly<Record<string, (own: GradConfig) => GradConfig>> = {
  ...Object.fromEntries(SHAPES_SUFFICE.map((name) => [name, (own) => withoutValues({ ...own })])),
  Mean: () => withoutValues(meanGradient),
  Multiply: productGradient,
  Pow: powGradient,
  RealDiv: quotientGradient,
  Sum: () => withoutValues(sumGradient),
  Tile: tileGradient,
  ...Object.fromEntries(ONE_PASS.map((gradient) => [gradient.of, onePassGradient(gradient)])),
};

const ours = new WeakSet<GradConfig>();

/**
 * Replaces tfjs's gradients by ours. A kernel without a registered gradient is skipped: a program
 * that imports tfjs-core alone and only predicts registers none.
 */
export function replaceGradients(): void {
  for (const [kernelName, replacement] of Object.entries(REPLACEMENTS)) {
    // tfjs's type omits undefined, which it returns if there is no gradient.
    const own = getGradient(kernelName) as GradConfig | undefined;
    if (!own || ours.has(own)) continue;
    const config = replacement(own);
    ours.add(config);
    replaceGradient(config);
  }
}
