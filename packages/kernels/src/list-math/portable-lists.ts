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
import type { ListMath } from '@acc/contract';

/** List math tensor by tensor, in tfjs's operations. Works on every backend. */
export function portableLists(): ListMath {
  return {
    add: (list, others, factor) => replaced(list, (x, i) => add(x, mul(others[i]!, factor))),
    scale: (list, factor) => replaced(list, (x) => mul(x, factor)),
    unscale(list, factor) {
      const scaled = replaced(list, (x) => mul(x, factor));
      const finite = tidy(() => scaled.map((x) => x.size === 0 || all(isFinite(x)).dataSync()[0]));
      return { list: scaled, isFinite: finite.every(Boolean) };
    },
    clamp: (list, min, max) => replaced(list, (x) => clipByValue(x, min, max)),
    norm: (list) => (list.length === 0 ? scalar(0) : tidy(() => sqrt(addN(list.map((x) => sum(square(x))))))),
  };
}

function replaced(list: readonly Tensor[], change: (x: Tensor, i: number) => Tensor): Tensor[] {
  const results = list.map((x, i) => tidy(() => change(x, i)));
  dispose([...list]);
  return results;
}
