import { util } from '@tensorflow/tfjs-core';
import { constantsOf, type ReadConstant } from '../../constants.js';
import type { Graph } from '../../graph.js';
import { makersOf } from '../../makers.js';
import { usersOf, type Users } from '../../users.js';
import { writtenValues } from '../../written-values.js';
import type { Call } from '../../graph.js';

/** A constant of more elements is not looked at: a mask of 4096 queries and keys. */
const MAX_READ_ELEMENTS = 1 << 24;

/** Facts about a graph, for the search for a pattern. */
export interface Context {
  readonly graph: Graph;
  readonly makers: ReadonlyMap<number, Call>;
  readonly users: Users;
  /** The values that leave a segment. */
  readonly outputs: ReadonlySet<number>;
  /** The values in memory that some call writes in place. */
  readonly written: ReadonlySet<number>;
  shapeOf(value: number): readonly number[];
  /** The elements of a value that is the same in every replay. */
  elementsOf(value: number): Float32Array | undefined;
  /** The number that a value is in every replay. */
  numberOf(value: number): number | undefined;
}

export function contextOf(graph: Graph, read: ReadConstant): Context {
  const constants = constantsOf(graph, MAX_READ_ELEMENTS);
  const shapeOf = (value: number): readonly number[] => graph.values[value]!.shape;
  const known = new Map<number, Float32Array>();
  const elementsOf = (value: number): Float32Array | undefined => {
    if (!constants.has(value)) return undefined;
    const elements = known.get(value) ?? read(value, graph.values[value]!);
    known.set(value, elements);
    return elements;
  };
  return {
    graph,
    makers: makersOf(graph),
    users: usersOf(graph),
    outputs: new Set(graph.segments.flatMap(({ outputs }) => outputs)),
    written: writtenValues(graph),
    shapeOf,
    elementsOf,
    numberOf(value) {
      const isNumber = util.sizeFromShape([...shapeOf(value)]) === 1;
      return graph.numbers.get(value) ?? (isNumber ? elementsOf(value)?.[0] : undefined);
    },
  };
}
