import { Aliases } from '../aliases.js';
import { constantsOf } from '../constants.js';
import { withNodes, type Graph } from '../graph.js';
import { removeDeadCode } from './dead-code.js';

/** The constants of a recording have together at most this many elements, 16 MiB of float32. */
export const MAX_FOLDED_ELEMENTS = 1 << 22;

/**
 * Removes calls that compute the same in every replay: their inputs are tensors that JavaScript made
 * of numbers, captured tensors, or nothing. Their results are computed once and kept, as far as they
 * fit into {@link MAX_FOLDED_ELEMENTS}. Views of captured tensors are not kept, because a kept one
 * would keep the memory of a whole tensor that the user may dispose.
 */
export function foldConstants(graph: Graph): Graph {
  const views = viewsOf(graph.captured, graph);
  let maxElements = MAX_FOLDED_ELEMENTS;
  for (;;) {
    const constants = constantsOf(graph, maxElements);
    const { rest, kept } = split(graph, constants, views);
    const sizes = kept.map((value) => graph.elements[value]!);
    if (sizes.reduce((sum, size) => sum + size, 0) > MAX_FOLDED_ELEMENTS) {
      // Computes the largest ones in every replay.
      maxElements = Math.max(...sizes) - 1;
      continue;
    }
    return { ...rest, folded: kept };
  }
}

/** The values that may share memory with one of `given`, these included. */
function viewsOf(given: ReadonlySet<number>, { segments }: Graph): ReadonlySet<number> {
  const aliases = new Aliases();
  for (const node of segments.flatMap(({ nodes }) => nodes)) aliases.add(node);
  return new Set([...given].flatMap((value) => [...aliases.of(value)]));
}

/** The graph without the calls that give constants, and the constants that its other calls take. */
function split(
  graph: Graph,
  constants: ReadonlySet<number>,
  views: ReadonlySet<number>,
): { rest: Graph; kept: number[] } {
  const isKept = (value: number): boolean => constants.has(value) && !views.has(value);
  const others = withNodes(graph, ({ nodes }) =>
    nodes.filter(({ kind, results }) => {
      const tensors = results.filter((value) => value >= 0);
      return kind !== 'call' || tensors.length === 0 || !tensors.every(isKept);
    }),
  );
  // Only constants took some of the views.
  const rest = removeDeadCode(others);
  const taken = new Set(rest.segments.flatMap(({ nodes }) => nodes.flatMap(({ uses }) => uses)));
  const kept = [...taken].filter((value) => isKept(value) && !graph.uploads.has(value));
  return { rest, kept };
}
