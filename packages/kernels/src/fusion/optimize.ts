import { factsOf, type CallFacts } from './call-facts.js';
import type { FusionMode } from './elementwise-operators.js';
import { graphOf, type Graph } from './graph.js';
import { mergeCommonSubexpressions } from './passes/common-subexpressions.js';
import { removeDeadCode } from './passes/dead-code.js';
import { fuseElementwise } from './passes/fuse-elementwise.js';
import { removeIdentityViews } from './passes/identity-views.js';
import { planOf } from './plan.js';
import { Report } from './report.js';

interface Pass {
  readonly name: string;
  readonly run: (graph: Graph) => Graph;
}

/** The passes, in the order in which they run. */
export function passesOf(mode: FusionMode, report: Report): readonly Pass[] {
  return [
    { name: 'remove dead code', run: removeDeadCode },
    { name: 'remove identity views', run: removeIdentityViews },
    { name: 'merge common subexpressions', run: mergeCommonSubexpressions },
    { name: 'fuse elementwise operators', run: fuseElementwise(mode, report) },
  ];
}

export interface Optimized {
  /** For `Recording.rewrite` in `@acc/native`. */
  readonly plan: readonly number[];
  /** What each pass did, for people. */
  readonly lines: readonly string[];
  /** The calls of the plan, in its order. */
  readonly calls: readonly CallFacts[];
  /** See {@link Graph.elements}. */
  readonly elements: readonly number[];
}

/**
 * Rewrites the calls of a recording, given as the text of its `describe`.
 *
 * @param elements Those of an earlier recording of the same step with arguments of other sizes.
 */
export function optimize(description: string, mode: FusionMode, elements?: readonly number[]): Optimized {
  const report = new Report();
  let graph = graphOf(description, elements);
  const lines = [`${countOf(graph)} calls were recorded.`];
  for (const { name, run } of passesOf(mode, report)) {
    graph = run(graph);
    lines.push(`after the pass '${name}': ${countOf(graph)} calls`);
  }
  return {
    plan: planOf(graph),
    lines: [...lines, ...report.lines()],
    calls: factsOf(graph, report),
    elements: graph.elements,
  };
}

const countOf = ({ segments }: Graph): number => segments.reduce((sum, { nodes }) => sum + nodes.length, 0);
