import { isFloat } from '../../elementwise-operators.js';
import type { Call } from '../../graph.js';
import { permutationOf } from '../../permutations.js';
import { isSameShape } from '../../same-shape.js';
import type { Context } from './context.js';

/** A stack of matrices that a product takes, behind the calls that make a list of it or turn it. */
export interface Factor {
  readonly value: number;
  /** Whether the product takes its transposes. */
  readonly isTurned: boolean;
}

export const isSameFactor = (a: Factor, b: Factor): boolean =>
  a.value === b.value && a.isTurned === b.isTurned;

/** The factor `value` as `[...leading, rows, columns]`, as early as possible. Undefined if it is none. */
export function factorOf(value: number, leading: readonly number[], context: Context): Factor | undefined {
  let found: Factor | undefined;
  let [at, isTurned] = [value, false];
  for (;;) {
    if (isSameShape(leadingDims(context.shapeOf(at)), leading)) found = { value: at, isTurned };
    const call = context.makers.get(at);
    const kind = call && kindOfView(call, context);
    if (!call || !kind) return found;
    if (kind === 'turned') isTurned = !isTurned;
    at = call.uses[0]!;
  }
}

const leadingDims = (shape: readonly number[]): readonly number[] => shape.slice(0, -2);

/**
 * 'same' for a call that returns the same matrices with other leading dims, and 'turned' for one
 * that returns their transposes.
 */
export function kindOfView(call: Call, { graph, shapeOf }: Context): 'same' | 'turned' | undefined {
  const { op, uses, results } = call;
  if (op === 'aten::reshape') {
    const [given, made] = [shapeOf(uses[0]!), shapeOf(results[0]!)];
    const isSame = given.length >= 2 && isSameShape(given.slice(-2), made.slice(-2));
    return isSame ? 'same' : undefined;
  }
  const permutation = permutationOf(call, graph.values);
  if (!permutation || permutation.length < 2) return undefined;
  const rank = permutation.length;
  const swapped = Array.from({ length: rank }, (_, dim) => dim)
    .with(-1, rank - 2)
    .with(-2, rank - 1);
  return isSameShape(permutation, swapped) ? 'turned' : undefined;
}

/** Whether a call converts between floats. */
export function isConversion({ op, uses, results }: Call, { graph: { values } }: Context): boolean {
  return op === 'aten::_to_copy' && [uses[0]!, results[0]!].every((value) => isFloat(values[value]!.dtype));
}

export interface Scaling {
  readonly of: number;
  readonly factor: number;
}

/** The tensor and the number of a product or a quotient of both. */
export function scalingOf({ op, uses, args }: Call, { numberOf }: Context): Scaling | undefined {
  const [x, y] = uses;
  if (op === 'aten::mul.Scalar' || op === 'aten::div.Scalar') {
    const number = Number(args[1]);
    return { of: x!, factor: op === 'aten::mul.Scalar' ? number : 1 / number };
  }
  const [left, right] = uses.map(numberOf);
  if (op === 'aten::div.Tensor' && right !== undefined) return { of: x!, factor: 1 / right };
  if (op !== 'aten::mul.Tensor') return undefined;
  if (right !== undefined) return { of: x!, factor: right };
  return left === undefined ? undefined : { of: y!, factor: left };
}
