import type { GraphNode } from './graph.js';

/**
 * Orders units of calls so that each follows those of which it takes results: otherwise as their
 * last calls were recorded. Random draws keep their order.
 *
 * @param nodes All calls of the units in the order of the recording.
 */
export function inOrder<U extends { readonly members: readonly GraphNode[] }>(
  units: readonly U[],
  nodes: readonly GraphNode[],
  unitOf: ReadonlyMap<GraphNode, U>,
): U[] {
  const makers = new Map(nodes.flatMap((node) => node.results.map((value) => [value, unitOf.get(node)!] as const)));
  const places = new Map(nodes.map((node, place) => [node, place]));
  const lastPlace = (unit: U): number => Math.max(...unit.members.map((node) => places.get(node)!));
  const drawBefore = new Map<U, U>();
  const draws = nodes.filter((node) => node.kind === 'call' && node.effect === 'draws').map((node) => unitOf.get(node)!);
  draws.slice(1).forEach((unit, i) => drawBefore.set(unit, draws[i]!));

  const ordered = new Set<U>();
  function add(unit: U): void {
    if (ordered.has(unit)) return;
    const before = drawBefore.get(unit);
    if (before) add(before);
    for (const value of unit.members.flatMap(({ uses }) => uses)) {
      const maker = makers.get(value);
      if (maker && maker !== unit) add(maker);
    }
    ordered.add(unit);
  }
  for (const unit of units.toSorted((a, b) => lastPlace(a) - lastPlace(b))) add(unit);
  return [...ordered];
}
