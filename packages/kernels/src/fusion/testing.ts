import { util } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import type { Call, Graph, GraphSegment, Value } from './graph.js';
import { shortName } from './report.js';

/** The result of a call in a graph of tests, as an index of a value. */
type Made = number;

/** Builds graphs for tests. All values are float32 of one shape unless stated. */
export class GraphBuilder {
  readonly #values: Value[] = [];
  readonly #segments: GraphSegment[] = [];
  #nodes: Call[] = [];
  #count = 0;
  readonly #numbers = new Map<number, number>();
  readonly #uploads = new Set<number>();
  readonly #captured = new Set<number>();

  constructor(
    private readonly shape: readonly number[] = [4, 8],
    private readonly isOnHost = true,
  ) {}

  input(shape = this.shape, dtype: NativeDtype = 'float32'): Made {
    return this.#values.push({ dtype, shape, isContiguous: true }) - 1;
  }

  /** A tensor that JavaScript made of numbers. */
  upload(shape = this.shape): Made {
    const value = this.input(shape);
    this.#uploads.add(value);
    return value;
  }

  /** A tensor from outside that is the same in every replay. */
  captured(shape = this.shape): Made {
    const value = this.input(shape);
    this.#captured.add(value);
    return value;
  }

  number(number: number): Made {
    const value = this.input([]);
    this.#numbers.set(value, number);
    return value;
  }

  call(op: string, uses: readonly Made[], rest: Partial<Call> & Partial<Value> = {}): Made {
    const { shape = this.shape, dtype, isContiguous = true, args = [], ...others } = rest;
    const result = this.#values.push({ dtype: dtype ?? 'float32', shape, isContiguous }) - 1;
    const call: Call = {
      ...{ kind: 'call', index: this.#count++, op: `aten::${op}`, place: -1, uses, results: [result] },
      ...{ args: [...uses.map((value) => ({ value })), ...args], effect: 'none', isView: false },
      ...others,
    };
    this.#nodes.push(call);
    return result;
  }

  /** A call that writes `uses[0]` in place. */
  write(op: string, uses: readonly Made[], args: Call['args'] = []): void {
    this.call(op, uses, { effect: 'writes', results: [], isView: true, args });
  }

  /** Ends a segment, which gives `outputs` away. */
  cut(...outputs: Made[]): void {
    this.#segments.push({ nodes: this.#nodes, outputs });
    this.#nodes = [];
  }

  /** The sum of two values, as libtorch's operator with its factor 1. */
  add(a: Made, b: Made, effect: Call['effect'] = 'none'): Made {
    return this.call('add.Tensor', [a, b], { args: [1], effect });
  }

  build(...outputs: Made[]): Graph {
    return {
      isOnHost: this.isOnHost,
      elements: this.#values.map(({ shape }) => util.sizeFromShape([...shape])),
      values: this.#values,
      segments: [...this.#segments, { nodes: this.#nodes, outputs }],
      numbers: this.#numbers,
      uploads: new Set([...this.#uploads, ...this.#numbers.keys()]),
      captured: this.#captured,
      folded: [],
    };
  }
}

/** The operators of a graph in their order; those of a program in brackets. */
export function operatorsOf({ segments }: Graph): string[] {
  const nameOf = ({ op }: { readonly op: string }): string => shortName(op);
  return segments.flatMap(({ nodes }) =>
    nodes.map((node) => (node.kind === 'fused' ? `[${node.members.map(nameOf).join(' ')}]` : nameOf(node))),
  );
}
