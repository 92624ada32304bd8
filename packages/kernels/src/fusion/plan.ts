import { operatorIndex, scalarTypeOf } from '@acc/native';
import {
  isListOfValues,
  isValue,
  type Graph,
  type GraphNode,
  type NewArgument,
  type OperatorCall,
  type Value,
} from './graph.js';

/** The kinds of entries of a plan, as cpp/engine/recording_plan.cpp reads them. */
const END_OF_SEGMENT = 0;
const KEPT_CALL = 1;
const FUSED_CALL = 2;
const OPERATOR_CALL = 3;
const CONSTANT = 4;

/** The tags of arguments, as cpp/engine/plan_call.cpp reads them. */
const NONE = 0;
const VALUE = 1;
const VALUES = 2;
const NUMBER = 3;
const NUMBERS = 4;

/** The calls of a graph as numbers, as `Recording.rewrite` in `@acc/native` takes them. */
export function planOf({ segments, folded, values }: Graph): number[] {
  const calls = segments.flatMap(({ nodes }) => [
    ...nodes.flatMap((node) => numbersOf(node, values)),
    END_OF_SEGMENT,
  ]);
  return [...folded.flatMap((value) => [CONSTANT, value]), ...calls];
}

function numbersOf(node: GraphNode, values: readonly Value[]): readonly number[] {
  if (node.kind === 'operator') return numbersOfOperator(node, values);
  const { uses, results } = node;
  if (node.kind === 'call') return [KEPT_CALL, node.index, uses.length, ...uses];
  return [FUSED_CALL, uses.length, ...uses, results.length, ...results, ...node.program];
}

function numbersOfOperator({ op, args, results }: OperatorCall, values: readonly Value[]): number[] {
  return [
    ...[OPERATOR_CALL, operatorIndex(op), args.length, ...args.flatMap(numbersOfArgument)],
    ...[results.length, ...results.flatMap((value) => numbersOfResult(value, values[value]))],
  ];
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
