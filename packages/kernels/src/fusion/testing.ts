import { util } from '@tensorflow/tfjs-core';
import type { Call, Graph, Value } from './graph.js';
import { shortName } from './report.js';

/** The result of a call in a graph of tests, as an index of a value. */
type Made = number;

/** Builds graphs of one segment for tests. All values are float32 of one shape unless stated. */
export class GraphBuilder {
  readonly #values: Value[] = [];
  readonly #nodes: Call[] = [];
  readonly #numbers = new Map<number, number>();
  readonly #uploads = new Set<number>();

  constructor(private readonly shape: readonly number[] = [4, 8]) {}

  input(shape = this.shape): Made {
    return this.#values.push({ dtype: 'float32', shape, isContiguous: true }) - 1;
  }

  /** A tensor that JavaScript made of numbers. */
  upload(shape = this.shape): Made {
    const value = this.input(shape);
    this.#uploads.add(value);
    return value;
  }

  number(number: number): Made {
    const value = this.input([]);
    this.#numbers.set(value, number);
    return value;
  }

  call(op: string, uses: readonly Made[], rest: Partial<Call> & { shape?: readonly number[] } = {}): Made {
    const { shape = this.shape, args = [], ...others } = rest;
    const result = this.input(shape);
    const call: Call = {
      ...{ kind: 'call', index: this.#nodes.length, op: `aten::${op}`, place: -1, uses, results: [result] },
      ...{ args: [...uses.map((value) => ({ value })), ...args], effect: 'none', isView: false },
      ...others,
    };
    this.#nodes.push(call);
    return result;
  }

  /** The sum of two values, as libtorch's operator with its factor 1. */
  add(a: Made, b: Made, effect: Call['effect'] = 'none'): Made {
    return this.call('add.Tensor', [a, b], { args: [1], effect });
  }

  build(...outputs: Made[]): Graph {
    return {
      elements: this.#values.map(({ shape }) => util.sizeFromShape([...shape])),
      values: this.#values,
      segments: [{ nodes: this.#nodes, outputs }],
      numbers: this.#numbers,
      uploads: new Set([...this.#uploads, ...this.#numbers.keys()]),
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
