import type { Call, Graph } from './graph.js';

/** The recorded call that returns each value. */
export function makersOf({ segments }: Graph): ReadonlyMap<number, Call> {
  return new Map(
    segments.flatMap(({ nodes }) =>
      nodes.flatMap((node) =>
        node.kind === 'call' ? node.results.map((value) => [value, node] as const) : [],
      ),
    ),
  );
}
