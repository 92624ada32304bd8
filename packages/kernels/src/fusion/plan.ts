import { operatorIndex, scalarTypeOf } from '@acc/native';
import {
  isListOfValues,
  isNewArgument,
  isValue,
  type Argument,
  type Graph,
  type GraphNode,
  type GraphSegment,
  type NewArgument,
  type Value,
} from './graph.js';

/** The kinds of entries of a plan, as cpp/engine/recording/plan.cpp reads them. */
const END_OF_SEGMENT = 0;
const KEPT_CALL = 1;
const FUSED_CALL = 2;
const OPERATOR_CALL = 3;
const CONSTANT = 4;
const OUTPUTS = 5;

/** The tags of arguments, as cpp/engine/recording/plan_call.cpp reads them. */
const NONE = 0;
const VALUE = 1;
const VALUES = 2;
const NUMBER = 3;
const NUMBERS = 4;

/** The calls of a graph as numbers, as `Recording.rewrite` in `@acc/native` takes them. */
export function planOf({ segments, folded, values }: Graph): number[] {
  const calls = segments.flatMap((segment) => numbersOfSegment(segment, values));
  return [...folded.flatMap((value) => [CONSTANT, value]), ...calls];
}

function numbersOfSegment({ nodes, outputs }: GraphSegment, values: readonly Value[]): readonly number[] {
  const calls = nodes.flatMap((node) => numbersOf(node, values));
  return [...calls, OUTPUTS, outputs.length, ...outputs, END_OF_SEGMENT];
}

function numbersOf(node: GraphNode, values: readonly Value[]): readonly number[] {
  if (node.kind === 'operator') return numbersOfOperator(node, values);
  const { uses, results } = node;
  if (node.kind === 'call' && node.inPlace !== undefined) {
    return numbersOfOperator({ ...node, args: node.args.map(asNew) }, values);
  }
  if (node.kind === 'call') return [KEPT_CALL, node.index, uses.length, ...uses];
  return [FUSED_CALL, uses.length, ...uses, results.length, ...results, ...node.program];
}

interface NewCall {
  readonly op: string;
  readonly args: readonly NewArgument[];
  readonly results: readonly number[];
}

function numbersOfOperator({ op, args, results }: NewCall, values: readonly Value[]): number[] {
  return [
    ...[OPERATOR_CALL, operatorIndex(op), args.length, ...args.flatMap(numbersOfArgument)],
    ...[results.length, ...results.flatMap((value) => numbersOfResult(value, values[value]))],
  ];
}

/** The pass that makes new calls of recorded ones leaves out those with other arguments. */
function asNew(arg: Argument): NewArgument {
  if (isNewArgument(arg)) return arg;
  throw new Error(`An argument cannot be part of a plan: ${JSON.stringify(arg)}`);
}

function numbersOfArgument(arg: NewArgument): number[] {
  if (arg === null) return [NONE];
  if (typeof arg !== 'object') return [NUMBER, Number(arg)];
  if (isValue(arg)) return [VALUE, arg.value];
  if (isListOfValues(arg)) return [VALUES, arg.values.length, ...arg.values];
  return [NUMBERS, arg.length, ...arg.map(Number)];
}

function numbersOfResult(value: number, meta: Value | undefined): number[] {
  return meta ? [value, scalarTypeOf(meta.dtype), meta.shape.length, ...meta.shape] : [value];
}
