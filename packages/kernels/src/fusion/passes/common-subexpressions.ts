import {
  isValue,
  withNodes,
  withValues,
  type Argument,
  type Call,
  type Graph,
  type GraphNode,
} from '../graph.js';
import { writtenValues } from '../written-values.js';

/**
 * A value of at most this many elements is kept longer for a later call that would compute it again.
 */
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
  const isSmall = (value: number): boolean => (graph.elements[value] ?? 1) <= SMALL_ELEMENTS;

  return withNodes(graph, ({ nodes }) => {
    const lastUses = lastUsesOf(nodes);
    const known = new Map<string, Call>();
    const kept: GraphNode[] = [];
    nodes.forEach((node, place) => {
      const call = withValues(node, current);
      if (call.kind !== 'call') return void kept.push(call);
      const key = canMerge(call, isFixed) ? keyOf(call, graph, numbers) : undefined;
      const earlier = key === undefined ? undefined : known.get(key);
      const isAtHand = earlier?.results.every(
        (value) => isSmall(value) || (lastUses.get(value) ?? -1) >= place,
      );
      if (!earlier || !isAtHand) {
        if (key !== undefined) known.set(key, call);
        return void kept.push(call);
      }
      call.results.forEach((value, i) => {
        const instead = earlier.results[i]!;
        merged.set(value, instead);
        lastUses.set(instead, Math.max(lastUses.get(value) ?? -1, lastUses.get(instead) ?? -1));
      });
    });
    return kept;
  });
}

function canMerge({ args, effect, uses, results }: Call, isFixed: ReadonlySet<number>): boolean {
  return (
    effect === 'none' && args.every(isKnown) && ![...uses, ...results].some((value) => isFixed.has(value))
  );
}

/**
 * Two calls with the same key compute the same. Equal numbers that JavaScript uploaded are one
 * value.
 */
function keyOf({ op, args, results }: Call, { values }: Graph, numbers: ReadonlyMap<number, string>): string {
  const given = args.map((arg) => (isValue(arg) ? (numbers.get(arg.value) ?? arg) : arg));
  // JSON has no -0. An integer and a float that are equal can give different dtypes.
  const text = JSON.stringify(given, (_key, item: unknown) => (Object.is(item, -0) ? '-0' : item));
  return `${op}${text}${results.map((value) => values[value]?.dtype).join()}`;
}

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
  return new Map(nodes.flatMap(({ uses }, place) => uses.map((value) => [value, place] as const)));
}
