import type { Optimizer } from '@tensorflow/tfjs-core';
import { hasTfjsRule } from './fused/fused-apply.js';

/**
 * Whether an optimizer may update shards inside `withShards`. True for optimizers that compute
 * each element of a weight from that element, its gradient and its state alone: tfjs's own classes,
 * `adamw`, `lion`, `oneBitAdam` and `sgdw`. An optimizer of another class says so by a member
 * `elementwise: true`. Also true for `lamb` and `adafactor`, which sum over ranks what they need of
 * whole weights. The classes of `@acc/optimizers` say so by a static member `updatesShards`, which
 * a subclass does not inherit: it may take other steps.
 */
export function canUpdateShards(optimizer: Optimizer): boolean {
  const { elementwise } = optimizer as { elementwise?: unknown };
  const { constructor } = optimizer as { constructor: { updatesShards?: unknown } };
  if (typeof elementwise === 'boolean') return elementwise;
  return (
    hasTfjsRule(optimizer) ||
    (Object.hasOwn(constructor, 'updatesShards') && constructor.updatesShards === true)
  );
}
