import { Aliases } from './aliases.js';
import type { Graph } from './graph.js';

/** The values in memory that some call writes in place, including all views of that memory. */
export function writtenValues({ segments }: Graph): ReadonlySet<number> {
  const aliases = new Aliases();
  const written = new Set<number>();
  for (const node of segments.flatMap(({ nodes }) => nodes)) {
    aliases.add(node);
    if (node.kind === 'call' && node.effect === 'writes') for (const value of node.uses) written.add(value);
  }
  return new Set([...written].flatMap((value) => [...aliases.of(value)]));
}
