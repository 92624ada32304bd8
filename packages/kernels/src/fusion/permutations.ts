import type { Call, Value } from './graph.js';

/** Operators that return their argument with its dims in another order. */
const PERMUTING: ReadonlySet<string> = new Set(['aten::t', 'aten::transpose.int', 'aten::permute']);

/** The dims of a call's argument in the order of those of its result. Undefined for other operators. */
export function permutationOf(
  { op, uses, args }: Call,
  values: readonly Value[],
): readonly number[] | undefined {
  if (!PERMUTING.has(op)) return undefined;
  const rank = values[uses[0]!]!.shape.length;
  const inOrder = Array.from({ length: rank }, (_, dim) => dim);
  if (op === 'aten::t') return inOrder.toReversed();
  const given = (op === 'aten::permute' ? args[1] : args.slice(1, 3)) as readonly number[];
  const dims = given.map((dim) => (dim < 0 ? dim + rank : dim));
  if (op === 'aten::permute') return dims;
  const [a, b] = dims as [number, number];
  return rank === 0 ? [] : inOrder.with(a, b).with(b, a);
}
