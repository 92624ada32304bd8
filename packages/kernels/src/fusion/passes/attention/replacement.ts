import type { Call, GraphNode, NewArgument, OperatorCall } from '../../graph.js';
import type { Backward } from './backward.js';
import type { Forward } from './forward.js';
import type { NewValues } from './new-values.js';

/** New calls at the places of others, and the calls that they replace. */
export interface Replacement {
  readonly nodesAt: ReadonlyMap<Call, readonly GraphNode[]>;
  readonly removed: ReadonlySet<Call>;
}

/** The operators of cpp/engine/kernels/attention/operator.cpp instead of attention in plain operators. */
export function replacementOf(
  forward: Forward,
  backward: Backward | undefined,
  values: NewValues,
): Replacement {
  const { q, turnedK, v, leading, product, members } = forward;
  const before: OperatorCall[] = [];
  const after: OperatorCall[] = [];
  const k = { ...turnedK, isTurned: !turnedK.isTurned };
  const qkv = [q, k, v].map((factor) => values.matricesOf(factor, before));
  const { value: output, removed: views } = values.deliver(
    { call: product, isTurned: false },
    leading,
    after,
  );
  const sums = values.sumsOf(forward);
  const { name, settings } = operatorOf(forward);
  const attention = callOf(`acc::${name}`, { tensors: qkv, settings, results: [output, sums], members });
  const replacement = {
    nodesAt: new Map<Call, GraphNode[]>([[product, [...before, attention, ...after]]]),
    removed: new Set([...members, ...views]),
  };
  if (!backward) return replacement;
  const around: OperatorCall[] = [];
  const gradients = [backward.dq, backward.dk, backward.dv].map((gradient) => {
    if (!gradient) return -1;
    const delivered = values.deliver(gradient, leading, around);
    for (const view of delivered.removed) replacement.removed.add(view);
    return delivered.value;
  });
  const tensors = [backward.dy.value, ...qkv, output, sums];
  const call = callOf(`acc::${name}_backward`, {
    tensors,
    settings,
    results: gradients,
    members: backward.members,
  });
  replacement.nodesAt.set(firstOf(backward.members), [call, ...around]);
  for (const member of backward.members) replacement.removed.add(member);
  return replacement;
}

type Setting = boolean | number | null | { readonly value: number };

/** The operator of an attention, and what it takes after its tensors. Its gradient takes the same. */
function operatorOf({ choice, isCausal, mask, scale }: Forward): {
  name: string;
  settings: readonly Setting[];
} {
  if (choice) {
    const { value, isSeen, hidden } = choice;
    return { name: 'attention_where', settings: [{ value }, isSeen, hidden, scale] };
  }
  return { name: 'attention', settings: [isCausal, mask === undefined ? null : { value: mask }, scale] };
}

interface AttentionCall {
  readonly tensors: readonly number[];
  readonly settings: readonly Setting[];
  readonly results: readonly number[];
  /** The calls that it replaces. */
  readonly members: readonly Call[];
}

function callOf(op: string, { tensors, settings, results, members }: AttentionCall): OperatorCall {
  const args: NewArgument[] = [...tensors.map((value) => ({ value })), ...settings];
  const masks = settings.flatMap((each) => (typeof each === 'object' && each ? [each.value] : []));
  return { kind: 'operator', op, args, members, uses: [...tensors, ...masks], results };
}

export const firstOf = (calls: readonly Call[]): Call => calls.reduce((a, b) => (a.index < b.index ? a : b));
