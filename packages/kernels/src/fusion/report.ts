import { elementwiseOperator, type FusionMode } from './elementwise-operators.js';
import { fusedForm } from './fusable.js';
import type { Call, FusedCall, Graph, Value } from './graph.js';

/** Collects what was fused, and what was not and why. */
export class Report {
  readonly #reasons = new Map<number, string>();
  readonly #separate = new Map<string, Map<string, number>>();
  /** A call can be in several programs, which compute it again. */
  readonly #fusedCalls = new Set<Call>();
  #programs = 0;

  fused({ members }: FusedCall): void {
    this.#programs++;
    for (const member of members) this.#fusedCalls.add(member);
  }

  /** Takes a call that runs alone. */
  separate(call: Call, graph: Graph, mode: FusionMode): void {
    const form = fusedForm(call, graph, mode);
    const reason = typeof form === 'string' ? form : 'no neighbour can be fused with it';
    const calls = this.#separate.get(reason) ?? new Map<string, number>();
    this.#reasons.set(call.index, reason);
    calls.set(call.op, (calls.get(call.op) ?? 0) + 1);
    this.#separate.set(reason, calls);
  }

  /** Why a call runs alone. Undefined if nothing was found out about it. */
  reasonOf(call: Call): string | undefined {
    return this.#reasons.get(call.index);
  }

  /** The lines of the report. */
  lines(): string[] {
    const separate = [...this.#separate].map(([reason, calls]) => {
      const names = [...calls]
        .toSorted(([, a], [, b]) => b - a)
        .map(([op, count]) => `${count} × ${shortName(op)}`);
      return `  ${reason}: ${names.join(', ')}`;
    });
    return [
      `${this.#fusedCalls.size} calls run as ${this.#programs} fused programs.`,
      'calls that run alone:',
      ...separate,
    ];
  }
}

/** The name of an operator without its namespace and overload. */
export function shortName(op: string): string {
  const name = op.replace('aten::', '').replace(/\..*/, '');
  // Accelerate's own forms of libtorch's elementwise operators have the names of these.
  return elementwiseOperator(op) ? name.replace('acc::', '') : name;
}

/** `float32[16,8]`. */
export const typeText = ({ dtype, shape }: Pick<Value, 'dtype' | 'shape'>): string =>
  `${dtype}[${shape.join()}]`;
