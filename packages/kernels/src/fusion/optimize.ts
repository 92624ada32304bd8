import type { Fusion } from '@acc/contract';
import { factsOf, type CallFacts } from './call-facts.js';
import type { ReadConstant } from './constants.js';
import { graphOf, type Graph, type GraphFacts } from './graph.js';
import { fuseAttention } from './passes/attention/fuse-attention.js';
import { mergeCommonSubexpressions } from './passes/common-subexpressions.js';
import { removeDeadCode } from './passes/dead-code.js';
import { foldConstants } from './passes/fold-constants.js';
import { fuseElementwise } from './passes/fuse-elementwise.js';
import { removeIdentityViews } from './passes/identity-views.js';
import { RecomputeReport } from './passes/recompute/recompute-report.js';
import { writeInPlace } from './passes/write-in-place.js';
import { writeNewValues } from './passes/write-new-values.js';
import { PatternReport } from './pattern-report.js';
import { planOf } from './plan.js';
import { Report } from './report.js';

interface Pass {
  readonly name: string;
  readonly run: (graph: Graph) => Graph;
}

interface ConditionalPass extends Pass {
  /** Whether plain steps do nothing alike: they compute again what repeats. */
  readonly isMoreThanPlain?: boolean;
  readonly rounds?: boolean;
  readonly needsHost?: boolean;
}

/** The reports of the passes, for people. */
interface Reports {
  readonly patterns: PatternReport;
  readonly elementwise: Report;
  readonly recompute: RecomputeReport;
}

export interface OptimizeOptions extends GraphFacts {
  readonly fusion: Exclude<Fusion, false>;
  /** Computes constants of the recording. */
  readonly read: ReadConstant;
}

/** The passes, in the order in which they run. */
function passesOf({ fusion, isOnHost, read }: OptimizeOptions, reports: Reports): readonly Pass[] {
  const mode = fusion === true ? 'fast' : 'exact';
  const passes: readonly ConditionalPass[] = [
    { name: 'write new values', run: writeNewValues },
    { name: 'remove dead code', run: removeDeadCode },
    { name: 'remove identity views', run: removeIdentityViews },
    { name: 'merge common subexpressions', run: mergeCommonSubexpressions, isMoreThanPlain: true },
    { name: 'fuse attention', run: fuseAttention(read, reports.patterns), rounds: true, needsHost: true },
    // What only the replaced calls took.
    { name: 'remove dead code', run: removeDeadCode },
    { name: 'fold constants', run: foldConstants },
    {
      name: 'fuse elementwise operators',
      run: fuseElementwise(mode, reports.elementwise, reports.recompute),
    },
    { name: 'write in place', run: writeInPlace },
  ];
  return passes.filter(
    ({ isMoreThanPlain, rounds, needsHost }) =>
      (fusion !== 'plain' || !isMoreThanPlain) && (fusion === true || !rounds) && (isOnHost || !needsHost),
  );
}

export interface Optimized {
  /** For `Recording.rewrite` in `@acc/native`. */
  readonly plan: readonly number[];
  /** A report on each pass, for people. */
  readonly lines: readonly string[];
  /** The calls of the plan, in its order. */
  readonly calls: readonly CallFacts[];
  /** See {@link Graph.elements}. */
  readonly elements: readonly number[];
}

/** Rewrites the calls of a recording, given as the text of its `describe`. */
export function optimize(description: string, options: OptimizeOptions): Optimized {
  const reports = {
    patterns: new PatternReport(),
    elementwise: new Report(),
    recompute: new RecomputeReport(),
  };
  const recorded = graphOf(description, options);
  let graph = recorded;
  const lines = [`${countOf(graph)} calls were recorded.`];
  for (const { name, run } of passesOf(options, reports)) {
    graph = run(graph);
    lines.push(`after the pass '${name}': ${countOf(graph)} calls`);
  }
  return {
    plan: planOf(graph),
    lines: [
      ...lines,
      ...reports.patterns.lines(),
      ...reports.elementwise.lines(),
      ...reports.recompute.lines(),
    ],
    calls: factsOf(graph, reports.elementwise),
    elements: recorded.elements,
  };
}

const countOf = ({ segments }: Graph): number => segments.reduce((sum, { nodes }) => sum + nodes.length, 0);
