import { util } from '@tensorflow/tfjs-core';
import type { ReadConstant } from '../../constants.js';
import { withNodes, type Call, type Graph } from '../../graph.js';
import type { PatternReport } from '../../pattern-report.js';
import { shortName, typeText } from '../../report.js';
import { backwardOf, type Backward } from './backward.js';
import { contextOf, type Context } from './context.js';
import { forwardOf, type Forward } from './forward.js';
import { NewValues } from './new-values.js';
import { firstOf, replacementOf } from './replacement.js';

interface Attention {
  readonly forward: Forward;
  /** Undefined if the step has no gradient of it. */
  readonly backward: Backward | undefined;
}

/**
 * Replaces `softmax(scale · q·kᵀ + mask) · v` and its gradients by flash attention, which keeps
 * neither scores nor probabilities (Dao et al. 2022).
 */
export const fuseAttention =
  (read: ReadConstant, report: PatternReport) =>
  (graph: Graph): Graph =>
    graph.segments
      .flatMap(({ nodes }) => nodes)
      .filter((node): node is Call => node.kind === 'call' && node.op === 'aten::_softmax')
      .reduce((current, softmax) => withAttention(softmax, current, read, report), graph);

function withAttention(softmax: Call, graph: Graph, read: ReadConstant, report: PatternReport): Graph {
  const context = contextOf(graph, read);
  const found = attentionOf(softmax, context);
  if (!found) return graph;
  if (typeof found === 'string') {
    report.missed(`softmax of ${typeText(graph.values[softmax.results[0]!]!)}: ${found}`);
    return graph;
  }
  const { forward, backward } = found;
  report.matched(textOf(found, context));
  const values = new NewValues(context);
  const { nodesAt, removed } = replacementOf(forward, backward, values);
  const replaced = withNodes(graph, ({ nodes }) =>
    nodes.flatMap((node) => {
      if (node.kind !== 'call') return [node];
      return nodesAt.get(node) ?? (removed.has(node) ? [] : [node]);
    }),
  );
  const added = values.values
    .slice(graph.values.length)
    .map(({ shape: dims }) => util.sizeFromShape([...dims]));
  return { ...replaced, values: values.values, elements: [...graph.elements, ...added] };
}

/** The attention around a softmax. If it is none, the reason; undefined if there are no products. */
function attentionOf(softmax: Call, context: Context): Attention | string | undefined {
  const forward = forwardOf(softmax, context);
  if (typeof forward !== 'object') return forward;
  const backward = backwardOf(forward, context);
  if (typeof backward === 'string') return backward;
  return problemOf({ forward, backward }, context) ?? { forward, backward };
}

/** Why an attention cannot be replaced. */
function problemOf({ forward, backward }: Attention, context: Context): string | undefined {
  const { q, turnedK, v, mask, choice, product } = forward;
  const taken = [q.value, turnedK.value, v.value, mask ?? choice?.value].filter(
    (value) => value !== undefined,
  );
  if (backward) {
    taken.push(backward.dy.value);
    if (firstOf(backward.members).index < product.index) return 'its gradients come before its output';
  }
  if (taken.some((value) => context.written.has(value)))
    return 'something writes in place into what it takes';
  const results = [product, backward?.dq?.call, backward?.dk?.call, backward?.dv?.call];
  const members = new Set([...forward.members, ...(backward?.members ?? [])]);
  for (const member of members) {
    if (results.includes(member)) continue;
    for (const value of member.results) {
      if (context.outputs.has(value))
        return `a result of its ${shortName(member.op)} is a result of the step`;
      const other = context.users.of(value).find((user) => user.kind !== 'call' || !members.has(user));
      if (other) return `a result of its ${shortName(member.op)} is also taken by ${nameOf(other)}`;
    }
  }
  return undefined;
}

const nameOf = (node: Graph['segments'][number]['nodes'][number]): string =>
  node.kind === 'fused' ? 'a fused program' : shortName(node.op);

function textOf({ forward, backward }: Attention, { graph }: Context): string {
  const { q, isCausal, mask, choice } = forward;
  const isMasked = mask !== undefined || choice !== undefined;
  const restriction = isCausal ? 'causal' : isMasked ? 'with a mask' : 'without a mask';
  const passes = backward ? 'forward and backward' : 'forward alone';
  return `flash attention of ${typeText(graph.values[q.value]!)}, ${restriction}, ${passes}`;
}
