import { getGradient, type GradConfig } from '@tensorflow/tfjs-core';
import { replaceGradient } from '@acc/tfjs-internals';
import { meanGradient } from './mean.js';
import { ONE_PASS, onePassGradient } from './one-pass.js';
import { SHAPES_SUFFICE, withoutValues } from './saved-shapes.js';
import { sumGradient } from './sum.js';
import { tileGradient } from './tile.js';

/** Ours for tfjs's own, by kernel. */
const REPLACEMENTS: Readonly<Record<string, (own: GradConfig) => GradConfig>> = {
  ...Object.fromEntries(SHAPES_SUFFICE.map((name) => [name, (own) => withoutValues({ ...own })])),
  Mean: () => withoutValues(meanGradient),
  Sum: () => withoutValues(sumGradient),
  Tile: tileGradient,
  ...Object.fromEntries(ONE_PASS.map((gradient) => [gradient.of, onePassGradient(gradient)])),
};

const ours = new WeakSet<GradConfig>();

/**
 * Puts our gradients in place of tfjs's. Of a kernel that has none registered (a program that imports tfjs-core alone and
 * only predicts) nothing is done.
 */
export function replaceGradients(): void {
  for (const [kernelName, replacement] of Object.entries(REPLACEMENTS)) {
    // tfjs's type leaves out that there may be none.
    const own = getGradient(kernelName) as GradConfig | undefined;
    if (!own || ours.has(own)) continue;
    const config = replacement(own);
    ours.add(config);
    replaceGradient(config);
  }
}
