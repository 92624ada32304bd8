import { clone, keep, Variable, type Tensor } from '@tensorflow/tfjs-core';
import type { Taken } from './probe-tape.js';

/**
 * Runs `compute` with the values that variables had when they were taken. What it assigns is undone: a moving average moves
 * once, however often its layer is computed.
 */
export function withVariablesOf<T>(taken: readonly Taken[], compute: () => T): T {
  const before = new Map<Variable, Tensor>();
  const { prototype } = Variable;
  const { assign } = prototype as { assign: (this: Variable, value: Tensor) => void };
  prototype.assign = function (this: Variable, value: Tensor) {
    if (!before.has(this)) before.set(this, keep(clone(this)));
    assign.call(this, value);
  };
  try {
    for (const { tensor, held } of taken) {
      if (tensor instanceof Variable && tensor.dataId !== held.dataId) tensor.assign(held);
    }
    return compute();
  } finally {
    prototype.assign = assign;
    for (const [variable, value] of before) {
      assign.call(variable, value);
      value.dispose();
    }
  }
}
