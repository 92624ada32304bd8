import { withNodes, type Argument, type Call, type Graph, type GraphNode } from '../graph.js';
import { sizeOf } from '../size-of.js';
import { writtenValues } from '../written-values.js';

/** A value of at most this many elements is kept longer for a later call that would compute it again. */
const SMALL_ELEMENTS = 1 << 14;

/**
 * Replaces calls that compute again what an earlier call of the same segment has computed. A large
 * value is not kept longer for that, so that a step needs no more memory.
 */
export function mergeCommonSubexpressions(graph: Graph): Graph {
  const isFixed = new Set([...writtenValues(graph), ...graph.segments.flatMap(({ outputs }) => outputs)]);
  const numbers = numbersByValue(graph);
  const merged = new Map<number, number>();
  const current = (value: number): number => merged.get(value) ?? value;
  return withNodes(graph, ({ nodes }) => {
    const lastUses = lastUsesOf(nodes);
    const known = new Map<string, Call>();
    return nodes.flatMap((node, place): GraphNode[] => {
      if (node.kind !== 'call') return [{ ...node, uses: node.uses.map(current) }];
      const call = withValues(node, current);
      const canMerge = call.args.every(isKnown) && call.effect === 'none' && ![...call.uses, ...call.results].some((v) => isFixed.has(v));
      if (!canMerge) return [call];
      const key = keyOf(call, graph, numbers);
      const earlier = known.get(key);
      if (!earlier) return void known.set(key, call) ?? [call];
      const isAlive = earlier.results.every(
        (value) => (lastUses.get(value) ?? -1) >= place || sizeOf(graph.values[value]!.shape) <= SMALL_ELEMENTS,
      );
      if (!isAlive) return void known.set(key, call) ?? [call];
      call.results.forEach((value, i) => {
        merged.set(value, earlier.results[i]!);
        const lastUse = Math.max(lastUses.get(value) ?? -1, lastUses.get(earlier.results[i]!) ?? -1);
        lastUses.set(earlier.results[i]!, lastUse);
      });
      return [];
    });
  });
}

/** A call with `current(value)` instead of each value that it takes. */
export function withValues(call: Call, current: (value: number) => number): Call {
  const args = call.args.map((arg): Argument => {
    if (typeof arg !== 'object' || arg === null || Array.isArray(arg)) return arg;
    if ('value' in arg) return { value: current(arg.value) };
    return 'values' in arg ? { values: arg.values.map(current) } : arg;
  });
  return { ...call, args, uses: call.uses.map(current) };
}

/** Two calls with the same key compute the same. Equal numbers that JavaScript uploaded are one value. */
function keyOf({ op, args, results }: Call, { values }: Graph, numbers: ReadonlyMap<number, string>): string {
  const given = args.map((arg) => (isValue(arg) ? (numbers.get(arg.value) ?? arg) : arg));
  // JSON has no -0. An integer and a float that are equal can give different dtypes.
  const text = JSON.stringify(given, (_key, item: unknown) => (Object.is(item, -0) ? '-0' : item));
  return `${op}${text}${results.map((value) => values[value]?.dtype).join()}`;
}

const isValue = (arg: Argument): arg is { value: number } =>
  typeof arg === 'object' && arg !== null && 'value' in arg;
const isKnown = (arg: Argument): boolean => typeof arg !== 'object' || arg === null || !('other' in arg);

function numbersByValue({ numbers, values }: Graph): ReadonlyMap<number, string> {
  return new Map(
    [...numbers].map(([value, number]) => [
      value,
      `${Object.is(number, -0) ? '-0' : number}[${values[value]!.shape.join()}]`,
    ]),
  );
}

function lastUsesOf(nodes: readonly GraphNode[]): Map<number, number> {
  const places = new Map<number, number>();
  nodes.forEach(({ uses }, place) => {
    for (const value of uses) places.set(value, place);
  });
  return places;
}
