import type { Call, OperatorCall, Value } from '../../graph.js';
import { isSameShape } from '../../same-shape.js';
import type { GradientProduct } from './backward.js';
import type { Context } from './context.js';
import { kindOfView, type Factor } from './factors.js';
import type { Forward } from './forward.js';

/** Adds new values to those of a graph, and makes the calls that turn and reshape them. */
export class NewValues {
  readonly values: Value[];

  constructor(private readonly context: Context) {
    this.values = [...context.graph.values];
  }

  /** The logarithms of the sums of an attention's exponentials. */
  sumsOf({ leading, softmax }: Forward): number {
    const queries = this.context.shapeOf(softmax.results[0]!).at(-2)!;
    const heads = leading.length === 1 ? [1, ...leading] : leading;
    return this.#add({ dtype: 'float32', shape: [...heads, queries], isContiguous: false });
  }

  /** The matrices that a product takes. Calls that this needs are added to `nodes`. */
  matricesOf({ value, isTurned }: Factor, nodes: OperatorCall[]): number {
    if (!isTurned) return value;
    const { dtype, shape } = this.values[value]!;
    const turned = this.#add({
      dtype,
      shape: [...shape.slice(0, -2), shape.at(-1)!, shape.at(-2)!],
      isContiguous: false,
    });
    nodes.push(turning(value, turned));
    return turned;
  }

  /**
   * The value that a new call returns instead of a product, `[...leading, rows, columns]`. Calls that
   * make what others take of it are added to `nodes`. The results are removed calls, too.
   */
  deliver(
    { call, isTurned }: GradientProduct,
    leading: readonly number[],
    nodes: OperatorCall[],
  ): { value: number; removed: readonly Call[] } {
    const [list] = call.results as [number];
    const view = this.#onlyView(list, leading);
    const wanted = view?.results[0] ?? list;
    const removed = view ? [view] : [];
    const { dtype, shape } = this.values[wanted]!;
    const full = [...leading, ...shape.slice(-2)];
    const isWhole = isSameShape(shape, full);
    if (!isTurned && isWhole) {
      this.values[wanted] = { dtype, shape, isContiguous: false };
      return { value: wanted, removed };
    }
    const matrices = isTurned ? [...leading, shape.at(-1)!, shape.at(-2)!] : full;
    const value = this.#add({ dtype, shape: matrices, isContiguous: false });
    const upright = isTurned && !isWhole ? this.#add({ dtype, shape: full, isContiguous: false }) : wanted;
    if (isTurned) nodes.push(turning(value, upright));
    if (!isWhole) nodes.push(reshaping(isTurned ? upright : value, wanted, shape));
    return { value, removed };
  }

  #add(value: Value): number {
    return this.values.push(value) - 1;
  }

  /** The call that makes `[...leading, rows, columns]` of a list, if nothing else takes the list. */
  #onlyView(list: number, leading: readonly number[]): Call | undefined {
    const [call, ...others] = this.context.users.of(list);
    if (call?.kind !== 'call' || others.length > 0 || this.context.outputs.has(list)) return undefined;
    const isWhole = isSameShape(this.context.shapeOf(call.results[0]!).slice(0, -2), leading);
    return kindOfView(call, this.context) === 'same' && isWhole ? call : undefined;
  }
}

const turning = (value: number, result: number): OperatorCall => ({
  ...{ kind: 'operator', op: 'aten::transpose.int', args: [{ value }, -2, -1], members: [] },
  ...{ uses: [value], results: [result] },
});

const reshaping = (value: number, result: number, shape: readonly number[]): OperatorCall => ({
  ...{ kind: 'operator', op: 'aten::reshape', args: [{ value }, shape], members: [] },
  ...{ uses: [value], results: [result] },
});
