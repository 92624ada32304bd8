import type { NativeDtype } from '@acc/contract';
import type { Call, FusedCall, Graph, GraphNode } from './graph.js';
import { shortName, typeText, type Report } from './report.js';

/** Facts about a call that replays run, for `explain`. */
export interface CallFacts {
  readonly kind: CallKind;
  /** The result, then the operators. */
  readonly text: string;
  /** The places in the user's program at which its operators were called. */
  readonly places: readonly number[];
  /** Why it runs alone. */
  readonly reason?: string | undefined;
}

export type CallKind = 'product' | 'attention' | 'recurrent' | 'program' | 'other';

/** The facts about the calls of a graph, in the order of its plan. */
export function factsOf(graph: Graph, report: Report): CallFacts[] {
  return graph.segments.flatMap(({ nodes }) => nodes.map((node) => factsOfNode(node, graph, report)));
}

function factsOfNode(node: GraphNode, graph: Graph, report: Report): CallFacts {
  const places = [...new Set(membersOf(node).map(({ place }) => place))];
  if (node.kind === 'fused') return { kind: 'program', text: textOfProgram(node, graph), places };
  const result = graph.values[node.results.find((value) => value >= 0) ?? -1];
  return { ...factsOfOperator(node.op, result, places), reason: reasonOf(node, report) };
}

const membersOf = (node: GraphNode): readonly Call[] => (node.kind === 'call' ? [node] : node.members);
const reasonOf = (node: GraphNode, report: Report): string | undefined =>
  node.kind === 'call' ? report.reasonOf(node) : undefined;

export function factsOfOperator(
  op: string,
  result: { readonly dtype: NativeDtype; readonly shape: readonly number[] } | undefined,
  places: readonly number[],
): CallFacts {
  const name = shortName(op);
  return { kind: kindOf(name), text: result ? `${name}, ${typeText(result)}` : name, places };
}

function textOfProgram({ members, uses, results }: FusedCall, { values }: Graph): string {
  const names = members.map(({ op }) => shortName(op)).join(' ');
  return `${typeText(values[results[0]!]!)}, ${uses.length} in, ${results.length} out: ${names}`;
}

/** Only in `other` operators no product takes time. Names may begin with a library: `acc::lstm`. */
function kindOf(name: string): CallKind {
  if (/attention|sdp/.test(name)) return 'attention';
  if (/(^|_|:)(lstm|gru|rnn)/.test(name)) return 'recurrent';
  return /(^|_|:)(mm|bmm|addmm|baddbmm|matmul|linear|conv\d?d?|convolution)(_|$)/.test(name)
    ? 'product'
    : 'other';
}
