import type { Call } from '../../graph.js';
import type { Context } from './context.js';

/** A condition of which the elements say which keys a query sees. */
export interface Condition {
  /** Broadcast to the scores. Elements that are not 0 are true. */
  readonly value: number;
  /** Whether queries see keys where it is true, or where it is false. */
  readonly isSeen: boolean;
}

/** Scores that a condition hides: a constant takes their place. */
export interface Choice extends Condition {
  readonly hidden: number;
}

/** A condition behind a value, and whether the value has no other elements than 0 and 1. */
interface Found extends Condition {
  readonly hasBooleans: boolean;
}

/** The condition behind a value: before it is broadcast, negated or converted to or from booleans. */
export function conditionBehind(value: number, context: Context): Found {
  const { makers, written, graph } = context;
  let isSeen = true;
  let hasBooleans = false;
  let at = value;
  for (;;) {
    hasBooleans ||= graph.values[at]!.dtype === 'bool';
    const call = makers.get(at);
    const isView = call && (isBroadcast(call) || isNegation(call) || isOfBooleans(call, context));
    if (!isView || written.has(at)) return { value: at, isSeen, hasBooleans };
    if (isNegation(call)) isSeen = !isSeen;
    at = call.uses[0]!;
  }
}

const isSameCondition = (a: Condition, b: Condition): boolean => a.value === b.value && a.isSeen === b.isSeen;

const isBroadcast = ({ op }: Call): boolean => op === 'aten::expand';
const isNegation = ({ op }: Call): boolean => op === 'aten::logical_not';

const CONVERSIONS: ReadonlySet<string> = new Set(['aten::_to_copy', 'aten::to.dtype']);

/** Whether a call converts to booleans or from them. */
const isOfBooleans = ({ op, uses, results }: Call, { graph: { values } }: Context): boolean =>
  CONVERSIONS.has(op) && [uses[0]!, results[0]!].some((value) => values[value]!.dtype === 'bool');

/** Whether a call multiplies by 1 where queries see keys, and by 0 elsewhere. */
export const isProductWith = (choice: Choice, call: Call, context: Context): boolean =>
  call.op === 'aten::mul.Tensor' &&
  call.uses.some((value) => {
    const found = conditionBehind(value, context);
    return found.hasBooleans && isSameCondition(found, choice);
  });
