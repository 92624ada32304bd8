import { getGradient, Tile, type GradConfig } from '@tensorflow/tfjs-core';
import { meanGradient } from './mean.js';
import { sumGradient } from './sum.js';
import { tileGradient } from './tile.js';

/** Gradients that take the place of tfjs's own, which must be registered when this is called. */
export function replacedGradients(): GradConfig[] {
  return [meanGradient, sumGradient, tileGradient(getGradient(Tile))];
}
