import {
  add,
  addN,
  all,
  clipByValue,
  dispose,
  isFinite,
  mul,
  scalar,
  sqrt,
  square,
  sum,
  tidy,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { valuesOf, type ListMath } from '@acc/contract';

/** List math tensor by tensor, in tfjs's operations. Works on every backend. */
export function portableLists(): ListMath {
  return {
    add: (list, others, factor) => replaced(list, (x, i) => add(x, mul(others[i]!, factor))),
    scale: (list, factor) => replaced(list, (x) => mul(x, factor)),
    unscale(list, factor) {
      const scaled = replaced(list, (x) => mul(x, factor));
      const finite = scaled.map((x) => x.size === 0 || valuesOf(tidy(() => all(isFinite(x))))[0] === 1);
      return { list: scaled, isFinite: finite.every(Boolean) };
    },
    clamp: (list, min, max) => replaced(list, (x) => clipByValue(x, min, max)),
    norm: (list) => tidy(() => sqrt(added(list.map((x) => sum(square(x)))))),
  };
}

/**
 * The most tensors that tfjs adds in one kernel on every backend. WebGPU gives a kernel 8 buffers, one
 * of them for the result, and tfjs does not notice that a larger sum fails.
 */
const MOST_ADDED = 6;

/** The sum of scalars, from the first to the last. */
function added(list: readonly Tensor[]): Tensor {
  if (list.length === 0) return scalar(0);
  let sumSoFar = list[0]!;
  for (let i = 1; i < list.length; i += MOST_ADDED - 1) {
    sumSoFar = addN([sumSoFar, ...list.slice(i, i + MOST_ADDED - 1)]);
  }
  return sumSoFar;
}

function replaced(list: readonly Tensor[], change: (x: Tensor, i: number) => Tensor): Tensor[] {
  const results = list.map((x, i) => tidy(() => change(x, i)));
  dispose([...list]);
  return results;
}
