import type { Variable } from '@tensorflow/tfjs-core';
import { activeAcc } from '#platform/active-acc';

/**
 * Runs `assign`, which gives a variable other values. A program seldom keeps the tensor that a variable
 * was made from, nor disposes it. Its memory is freed when garbage collection next finds it unreachable,
 * however little the program has dropped.
 */
export function replaceInitial(variable: Variable, assign: () => void): void {
  const { dataId } = variable;
  assign();
  activeAcc()?.watch(dataId);
}
