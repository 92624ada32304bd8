import { serialization } from '@tensorflow/tfjs-core';
import { Adafactor } from './adafactor.js';
import { AdamW } from './adamw.js';
import { Lamb } from './lamb.js';
import { Lion } from './lion.js';
import { OneBitAdam } from './one-bit-adam.js';
import { SgdW } from './sgdw.js';

/**
 * Registers these optimizers with tfjs, so that it can load models saved with them. May be called
 * again.
 */
export function registerOptimizers(): void {
  for (const optimizer of [AdamW, SgdW, Lion, Lamb, Adafactor, OneBitAdam])
    serialization.registerClass(optimizer);
}
