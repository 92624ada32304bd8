import type { Optimizer } from '@tensorflow/tfjs-core';
import { Adafactor } from './adafactor.js';
import { AdamW } from './adamw.js';
import { hasOwnRule } from './fused/fused-apply.js';
import { Lamb } from './lamb.js';
import { Lion } from './lion.js';
import { OneBitAdam } from './one-bit-adam.js';
import { SgdW } from './sgdw.js';

const OURS: readonly unknown[] = [Adafactor, AdamW, Lamb, Lion, OneBitAdam, SgdW];

/**
 * Whether an optimizer may update shards inside `withShards`. True for optimizers that compute
 * each element of a weight from that element, its gradient and its state alone: tfjs's own classes,
 * `adamw`, `lion`, `oneBitAdam` and `sgdw`. An optimizer of another class says so by a member
 * `elementwise: true`. Also true for `lamb` and `adafactor`, which sum over ranks what they need of
 * whole weights.
 */
export function canUpdateShards(optimizer: Optimizer): boolean {
  const { elementwise } = optimizer as { elementwise?: unknown };
  if (typeof elementwise === 'boolean') return elementwise;
  return hasOwnRule(optimizer) || OURS.includes(optimizer.constructor);
}
