import { observeCalls } from '@acc/native';
import { counting } from './counting.js';
import { NO_FLOPS, operatorFlops, type Flops } from './operator-flops.js';

export function addFlops(a: Flops, b: Flops, times = 1): Flops {
  return {
    hardware: a.hardware + times * b.hardware,
    model: a.model + times * b.model,
    hidden: a.hidden + times * b.hidden,
  };
}

/**
 * The operations of a call that has just run. Undefined if it has no products, or if it was made only to
 * measure it.
 */
export function flopsOfCall(name: string, args: Parameters<typeof operatorFlops>[1]): Flops | undefined {
  if (counting.isPaused) return undefined;
  const flops = operatorFlops(name, args);
  return flops && counting.isAgain ? { hardware: flops.hardware, model: 0, hidden: 0 } : flops;
}

/**
 * Counts the operations of native calls from now on. Replays of compiled steps are not among them.
 *
 * @param counts Whether a call counts. Default: all do.
 * @returns Ends it, and returns their sum.
 */
export function countFlops(counts: () => boolean = () => true): () => Flops {
  let sum = NO_FLOPS;
  const remove = observeCalls((name, args) => {
    const flops = counts() ? flopsOfCall(name, args) : undefined;
    if (flops) sum = addFlops(sum, flops);
  });
  return () => {
    remove();
    return sum;
  };
}
