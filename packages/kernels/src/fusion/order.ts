import type { GraphNode } from './graph.js';
import type { Unit, Units } from './units.js';
import { draws } from './users.js';

/**
 * The units of `nodes` in an order in which they can run: each after those of which it takes
 * results, otherwise as their last calls were recorded. Random draws keep their order.
 */
export function inOrder(nodes: readonly GraphNode[], units: Units): Unit[] {
  const makers = new Map(
    nodes.flatMap((node) => node.results.map((value) => [value, units.unitOf(node)] as const)),
  );
  const drawBefore = drawsBefore(nodes, units);
  const ordered = new Set<Unit>();
  function add(unit: Unit): void {
    if (ordered.has(unit)) return;
    const before = drawBefore.get(unit);
    if (before) add(before);
    for (const value of unit.members.flatMap(({ uses }) => uses)) {
      const maker = makers.get(value);
      if (maker && maker !== unit) add(maker);
    }
    ordered.add(unit);
  }
  // The first member of a unit was recorded last.
  for (const node of nodes) if (units.unitOf(node).members[0] === node) add(units.unitOf(node));
  return [...ordered];
}

/** For each unit that draws random numbers, the one that draws before it. */
function drawsBefore(nodes: readonly GraphNode[], units: Units): ReadonlyMap<Unit, Unit> {
  const drawing = nodes.filter(draws).map((node) => units.unitOf(node));
  return new Map(drawing.slice(1).map((unit, i) => [unit, drawing[i]!]));
}
