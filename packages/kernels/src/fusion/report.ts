import type { FusionMode } from './elementwise-operators.js';
import { fusedForm } from './fusable.js';
import type { Call, FusedCall, Graph } from './graph.js';

/** Collects what was fused, and what was not and why. */
export class Report {
  readonly #fused = new Map<string, number>();
  readonly #separate = new Map<string, Map<string, number>>();
  #fusedCalls = 0;
  #programs = 0;

  fused({ members, uses, results }: FusedCall, { values }: Graph): void {
    this.#programs++;
    this.#fusedCalls += members.length;
    const { dtype, shape } = values[results[0]!]!;
    const names = members.map(({ op }) => shortName(op)).join(' ');
    const text = `${dtype}[${shape.join()}], ${uses.length} in, ${results.length} out: ${names}`;
    this.#fused.set(text, (this.#fused.get(text) ?? 0) + 1);
  }

  /** Takes a call that runs alone. */
  separate(call: Call, graph: Graph, mode: FusionMode): void {
    const form = fusedForm(call, graph, mode);
    const reason = typeof form === 'string' ? form : 'no neighbour can be fused with it';
    const calls = this.#separate.get(reason) ?? new Map<string, number>();
    calls.set(call.op, (calls.get(call.op) ?? 0) + 1);
    this.#separate.set(reason, calls);
  }

  /** The lines of the report. */
  lines(): string[] {
    const fused = [...this.#fused].map(([text, count]) => `  ${count} × ${text}`);
    const separate = [...this.#separate].map(([reason, calls]) => {
      const names = [...calls]
        .toSorted(([, a], [, b]) => b - a)
        .map(([op, count]) => `${count} × ${shortName(op)}`);
      return `  ${reason}: ${names.join(', ')}`;
    });
    return [
      `${this.#fusedCalls} calls run as ${this.#programs} fused programs:`,
      ...fused,
      'calls that run alone:',
      ...separate,
    ];
  }
}

/** The name of an operator without its namespace and overload. */
export const shortName = (op: string): string => op.replace('aten::', '').replace(/\..*/, '');
