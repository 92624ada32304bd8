import type { GraphNode } from './graph.js';

/** Operators that can return views of their arguments, although their schemas do not say so. */
const UNDECLARED_VIEWS: ReadonlySet<string> = new Set([
  'aten::broadcast_tensors',
  'aten::einsum',
  'aten::meshgrid',
  'aten::meshgrid.indexing',
  'aten::type_as',
]);

/** Finds the values that may share memory. Nodes are added one after the other. */
export class Aliases {
  readonly #groups = new Map<number, Set<number>>();

  /** The values that may share the memory of a value, itself included. */
  of(value: number): ReadonlySet<number> {
    return this.#groups.get(value) ?? new Set([value]);
  }

  add(node: GraphNode): void {
    if (givesViews(node)) this.join([...node.uses, ...node.results]);
  }

  /** Notes that values may share memory. */
  join(values: readonly number[]): void {
    const joined = new Set(values.filter((value) => value >= 0).flatMap((value) => [...this.of(value)]));
    for (const value of joined) this.#groups.set(value, joined);
  }
}

function givesViews(node: GraphNode): boolean {
  if (node.kind === 'fused') return false;
  // Passes also add transposes and changes of shape.
  if (node.kind === 'operator') return true;
  // The schema of a call that writes in place says the same of its first argument as of its result.
  const isView = node.isView && (node.effect !== 'writes' || node.results.length > 0);
  return isView || UNDECLARED_VIEWS.has(node.op);
}
