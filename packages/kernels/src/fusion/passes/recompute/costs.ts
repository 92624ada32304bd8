import type { NativeDtype } from '@acc/contract';
import { isShapeOnly } from '../../fusable.js';
import type { Graph, GraphNode } from '../../graph.js';
import { shortName } from '../../report.js';

/** The cost of a byte that lives during a whole step, relative to one that a program reads or writes. */
export const LIFE = 2;
/** The cost of a step of a program for each element, in bytes that are read in the same time. */
const PLAIN_STEP = 0.5;
const FUNCTION_STEP = 4;
/** The fixed cost of a step. */
const STEP = 64;

const FUNCTIONS = new Set([
  'tanh',
  'sigmoid',
  'exp',
  'log',
  'erf',
  'gelu',
  'gelu_backward',
  '_softmax',
  '_log_softmax',
]);

const ITEM_BYTES: Partial<Record<NativeDtype, number>> = {
  ...{ float64: 8, int64: 8, complex64: 8 },
  ...{ bfloat16: 2, float16: 2, int16: 2, int8: 1, uint8: 1, bool: 1 },
};

export function bytesOf(value: number, { elements, values }: Graph): number {
  return elements[value]! * (ITEM_BYTES[values[value]!.dtype] ?? 4);
}

/** The cost of the steps of an operator in a program, in bytes. */
export function stepCostOf(node: GraphNode, { elements }: Graph): number {
  if (node.kind !== 'call' || isShapeOnly(node)) return 0;
  const perElement = FUNCTIONS.has(shortName(node.op)) ? FUNCTION_STEP : PLAIN_STEP;
  return STEP + perElement * elements[node.results[0]!]!;
}
