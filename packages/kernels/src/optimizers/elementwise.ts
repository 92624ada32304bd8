import type { Optimizer } from '@tensorflow/tfjs-core';
import { AdamW } from './adamw.js';
import { hasOwnRule } from './fused/fused-apply.js';
import { Lion } from './lion.js';
import { SgdW } from './sgdw.js';

const OURS: readonly unknown[] = [AdamW, Lion, SgdW];

/**
 * Whether an optimizer computes each element of a weight from that element, its gradient and its
 * state alone, so that it may update shards. True for tfjs's own classes and `adamw`, `lion` and
 * `sgdw`. An optimizer of another class says so by a member `elementwise: true`.
 */
export function isElementwise(optimizer: Optimizer): boolean {
  const { elementwise } = optimizer as { elementwise?: unknown };
  if (typeof elementwise === 'boolean') return elementwise;
  return hasOwnRule(optimizer) || OURS.includes(optimizer.constructor);
}
