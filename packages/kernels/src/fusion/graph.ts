import { util } from '@tensorflow/tfjs-core';
import { dtypeOf } from '@acc/native';
import type { NativeDtype } from '@acc/contract';
import type { FusedProgram } from './fused-program.js';

/** An argument of a recorded call. Tensors are values of the graph. */
export type Argument =
  | { readonly value: number }
  | { readonly values: readonly number[] }
  /** A kind that the description leaves out. */
  | { readonly other: string }
  | number
  | string
  | boolean
  | null
  | readonly (number | boolean)[];

/** The effect of a call besides its results. */
export type Effect = 'none' | 'writes' | 'draws';

/** A recorded call of an operator. */
export interface Call {
  readonly kind: 'call';
  /** Its place in the recording. */
  readonly index: number;
  readonly op: string;
  /** Its place in the user's program; -1 for none. */
  readonly place: number;
  readonly args: readonly Argument[];
  /** The values that it takes, in the order of its arguments; -1 for None. */
  readonly uses: readonly number[];
  /** The values that it returns; -1 for results that are not tensors. */
  readonly results: readonly number[];
  readonly effect: Effect;
  /** Whether its results may share memory with its arguments. */
  readonly isView: boolean;
  /**
   * The operator that was recorded, if that wrote its first argument in place. The call now returns a
   * new value.
   */
  readonly inPlace?: string;
}

/** One run of a fused program instead of several calls. */
export interface FusedCall {
  readonly kind: 'fused';
  readonly members: readonly Call[];
  readonly program: FusedProgram;
  /** The inputs of the program. */
  readonly uses: readonly number[];
  readonly results: readonly number[];
}

/** An argument of a call that was not recorded. */
export type NewArgument = Exclude<Argument, string | { readonly other: string }>;

/** A call of an operator that was not recorded, instead of several calls. It has no effects. */
export interface OperatorCall {
  readonly kind: 'operator';
  /** The full name. */
  readonly op: string;
  /** Arguments that are left out have their defaults. */
  readonly args: readonly NewArgument[];
  readonly members: readonly Call[];
  readonly uses: readonly number[];
  /** One for each result of the operator; -1 for those that nobody takes. */
  readonly results: readonly number[];
}

export type GraphNode = Call | FusedCall | OperatorCall;

export interface Value {
  readonly dtype: NativeDtype;
  readonly shape: readonly number[];
  readonly isContiguous: boolean;
}

/** Calls between two actions, in an order in which they can run. */
export interface GraphSegment {
  readonly nodes: readonly GraphNode[];
  /** The values that it returns, or passes to the action that follows. */
  readonly outputs: readonly number[];
}

/** The calls of a recorded step. Passes return changed copies. */
export interface Graph {
  /** Whether tensors are in host memory. On other devices libtorch's operators round in another way. */
  readonly isOnHost: boolean;
  readonly values: readonly Value[];
  readonly segments: readonly GraphSegment[];
  /**
   * The number of elements of each value, for choices that only affect time or memory. For arguments
   * of other sizes they are those of the recording that was made first, so that the choices are the
   * same.
   */
  readonly elements: readonly number[];
  /** The values of one float32 that are the same in every replay. */
  readonly numbers: ReadonlyMap<number, number>;
  /** The values that JavaScript uploads, and that no call writes in place. */
  readonly uploads: ReadonlySet<number>;
  /** Tensors from outside that are the same in every replay. No call writes them in place. */
  readonly captured: ReadonlySet<number>;
  /** The values that are computed once instead of in every replay. No call makes them. */
  readonly folded: readonly number[];
}

interface RecordedJson {
  readonly values: readonly { scalarType: number; shape: number[]; isContiguous: boolean }[];
  readonly calls: readonly Omit<Call, 'kind' | 'index'>[];
  readonly segments: readonly { first: number; end: number; inputs: number[]; outputs: number[] }[];
  readonly numbers: readonly [value: number, number: number][];
  readonly uploads: readonly number[];
  readonly captured: readonly number[];
}

/** Facts about a graph that the text of its recording lacks. */
export interface GraphFacts {
  readonly isOnHost: boolean;
  /** See {@link Graph.elements}. Default: those of the graph. */
  readonly elements?: readonly number[] | undefined;
}

/** Makes a graph of the text of `Recording.describe` in `@acc/native`. */
export function graphOf(description: string, { isOnHost, elements }: GraphFacts): Graph {
  const { values, calls, segments, numbers, uploads, captured } = JSON.parse(description) as RecordedJson;
  const nodes = calls.map((call, index): Call => ({ kind: 'call', index, ...call }));
  return {
    isOnHost,
    values: values.map(({ scalarType, ...rest }) => ({ dtype: dtypeOf(scalarType), ...rest })),
    segments: segments.map(({ first, end, outputs }) => ({ nodes: nodes.slice(first, end), outputs })),
    elements: elements ?? values.map(({ shape }) => util.sizeFromShape(shape)),
    numbers: new Map(numbers),
    uploads: new Set(uploads),
    captured: new Set(captured),
    folded: [],
  };
}

/**
 * The place of the first call that takes an input of a segment, of the text of
 * `Recording.describe`. -1 if there is none.
 */
export function placeOfInput(description: string, segment: number, input: number): number {
  const { calls, segments } = JSON.parse(description) as RecordedJson;
  const value = segments[segment]?.inputs[input];
  return calls.find(({ uses }) => value !== undefined && uses.includes(value))?.place ?? -1;
}

/** A copy of the graph with the changed `nodes` of each segment. */
export function withNodes(
  graph: Graph,
  change: (segment: GraphSegment, index: number) => readonly GraphNode[],
): Graph {
  return {
    ...graph,
    segments: graph.segments.map((segment, i) => ({ ...segment, nodes: change(segment, i) })),
  };
}

/** A node with `current(value)` instead of each value that it takes. */
export function withValues<Node extends GraphNode>(node: Node, current: (value: number) => number): Node {
  const uses = node.uses.map(current);
  if (node.kind === 'fused') return { ...node, uses };
  const args = node.args.map((arg): Argument => {
    if (typeof arg !== 'object' || arg === null) return arg;
    if (isValue(arg)) return { value: current(arg.value) };
    return isListOfValues(arg) ? { values: arg.values.map(current) } : arg;
  });
  return { ...node, args, uses };
}

/** Whether an argument is a tensor. */
export const isValue = (arg: Argument): arg is { readonly value: number } =>
  typeof arg === 'object' && arg !== null && 'value' in arg;

/** Whether an argument is a list of tensors. */
export function isListOfValues(arg: Argument): arg is { readonly values: readonly number[] } {
  // Arrays have a method of this name.
  return typeof arg === 'object' && arg !== null && 'values' in arg && !Array.isArray(arg);
}

/** Whether a plan can contain an argument. */
export const isNewArgument = (arg: Argument): arg is NewArgument =>
  typeof arg !== 'string' && (typeof arg !== 'object' || arg === null || !('other' in arg));
