import { clone, keep, Variable, type Tensor } from '@tensorflow/tfjs-core';
import { patch } from '@acc/tfjs-internals';
import { runsHook } from '../gradient-driver/tape-participants.js';
import type { CapturedTensor } from './probe-tape.js';

/**
 * Runs `compute` with the values that variables had when they were first used, and then undoes its
 * assignments. Therefore a moving average is updated once, however often its layer is computed.
 */
export function withVariablesOf<T>(taken: readonly CapturedTensor[], compute: () => T): T {
  const before = new Map<Variable, Tensor>();
  const undo = patch(Variable.prototype, 'assign', 'recomputation', (own) => {
    return function (this: Variable, value: Tensor) {
      // What hooks assign is a parameter's only value, on its way in or out.
      if (!runsHook() && !before.has(this)) before.set(this, keep(clone(this)));
      own.call(this, value);
    };
  });
  try {
    for (const { tensor, held } of taken) {
      if (held && tensor instanceof Variable && tensor.dataId !== held.dataId) tensor.assign(held);
    }
    return compute();
  } finally {
    undo();
    for (const [variable, value] of before) {
      variable.assign(value);
      value.dispose();
    }
  }
}
