import { constantsOf } from '../constants.js';
import { withNodes, type Graph } from '../graph.js';

/** The constants of a recording have together at most this many elements, 16 MiB of float32. */
export const MAX_FOLDED_ELEMENTS = 1 << 22;

/**
 * Removes calls that compute the same in every replay: their inputs are tensors that JavaScript made
 * of numbers, or nothing. Their results are computed once and kept, as far as they fit into
 * {@link MAX_FOLDED_ELEMENTS}.
 */
export function foldConstants(graph: Graph): Graph {
  let maxElements = MAX_FOLDED_ELEMENTS;
  for (;;) {
    const constants = constantsOf(graph, maxElements);
    const { rest, kept } = split(graph, constants);
    const sizes = kept.map((value) => graph.elements[value]!);
    if (sizes.reduce((sum, size) => sum + size, 0) > MAX_FOLDED_ELEMENTS) {
      // Computes the largest ones in every replay.
      maxElements = Math.max(...sizes) - 1;
      continue;
    }
    return { ...rest, folded: kept };
  }
}

/** The graph without the calls that give constants, and the constants that its other calls take. */
function split(graph: Graph, constants: ReadonlySet<number>): { rest: Graph; kept: number[] } {
  const rest = withNodes(graph, ({ nodes }) =>
    nodes.filter(({ kind, results }) => {
      const tensors = results.filter((value) => value >= 0);
      return kind !== 'call' || tensors.length === 0 || tensors.some((value) => !constants.has(value));
    }),
  );
  const taken = new Set(rest.segments.flatMap(({ nodes }) => nodes.flatMap(({ uses }) => uses)));
  const kept = [...taken].filter((value) => constants.has(value) && !graph.uploads.has(value));
  return { rest, kept };
}
