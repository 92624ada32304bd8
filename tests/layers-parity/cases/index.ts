import type { LayerCases } from '../layer-case.js';
import { ACTIVATIONS } from './activation.js';
import { CUSTOM } from './attention.js';
import { CONVOLUTIONS } from './convolution.js';
import { CORE } from './core.js';
import { PREPARATIONS } from './images.js';
import { LOSS_CASES } from './loss.js';
import { MERGINGS } from './merging.js';
import { POOLINGS } from './pooling.js';
import { RANDOM } from './random.js';
import { RECURRENT } from './recurrent.js';

export const LAYER_CASES: LayerCases = {
  ...CORE,
  ...ACTIVATIONS,
  ...CONVOLUTIONS,
  ...POOLINGS,
  ...RECURRENT,
  ...MERGINGS,
  ...PREPARATIONS,
  ...RANDOM,
  ...LOSS_CASES,
  ...CUSTOM,
};
