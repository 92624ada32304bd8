import type { Graph } from './graph.js';

/** The values in memory that some call writes in place, including all views of that memory. */
export function writtenValues({ segments }: Graph): ReadonlySet<number> {
  const parents = new Map<number, number>();
  const rootOf = (value: number): number => {
    let root = value;
    for (let next = parents.get(root); next !== undefined; next = parents.get(root)) root = next;
    return root;
  };
  const values = new Set<number>();
  const written: number[] = [];
  for (const node of segments.flatMap(({ nodes }) => nodes)) {
    if (node.kind !== 'call') continue;
    for (const value of [...node.uses, ...node.results]) values.add(value);
    if (node.effect === 'writes') written.push(...node.uses);
    if (!node.isView) continue;
    const [first, ...others] = [...node.uses, ...node.results].filter((value) => value >= 0);
    for (const other of others)
      if (rootOf(other) !== rootOf(first!)) parents.set(rootOf(other), rootOf(first!));
  }
  const roots = new Set(written.map(rootOf));
  return new Set([...values].filter((value) => roots.has(rootOf(value))));
}
