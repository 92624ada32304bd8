import { flattenConfig, type RunConfig } from '@acc/contract';
import { CURVES, type Axis, type Curve } from '../curves/catalogue.js';
import { longerPhases } from '../curves/longer-phases.js';
import { pixelColumns, type View } from '../curves/pixel-columns.js';
import type { Points } from '../curves/series.js';
import { JUDGED_STEPS, RECENT_STEPS, type RankFigures } from '../runs/rank-figures.js';
import { checkpointsOf } from '../runs/checkpoints.js';
import { MOST_RANKS, progressOf, type WatchedRun } from '../runs/watched-run.js';
import type { CurveSet, DrawnCurve, RankTimes, RunDetails } from './answers.js';

/** Samples are written every 250 ms, so a run without new records for longer is not running. */
const LIVE_MS = 5000;

export async function describeRun(run: WatchedRun): Promise<RunDetails> {
  const { ranks, error, log } = run;
  const lastTime = Math.max(0, ...ranks.map((rank) => rank.lastTime));
  const isLive = Date.now() - lastTime < LIVE_MS;
  const { step, rankCount } = progressOf(run);
  return {
    ...{ id: run.id, version: run.version, isLive, step, rankCount },
    verdict: await run.verdict(),
    ...{ judgedSteps: JUDGED_STEPS, recentSteps: RECENT_STEPS },
    ranks: timesOf(ranks),
    alerts: log.alerts,
    hasAlertFile: log.hasFile,
    images: log.images,
    tables: log.tables,
    checkpoints: await checkpointsOf(run.facts),
    windows: run.windows.summaries,
    job: run.job && { isRunning: isLive, ...run.job.details },
    error: error && { code: error.code, message: error.message },
    problems: run.problems,
    options: optionsOf(run),
  };
}

function timesOf(ranks: readonly RankFigures[]): RankTimes[] {
  const times = ranks.map((rank) => rank.phases());
  const known = times.filter((each) => each !== undefined);
  return ranks.map(({ rank, facts }, i) => {
    const phases = times[i];
    return { rank, host: facts?.host ?? '', phases, longer: phases ? longerPhases(phases, known) : [] };
  });
}

/** Options of the Accelerator, and facts of the run that are chosen. */
function optionsOf({ facts }: WatchedRun): RunDetails['options'] {
  if (!facts) return {};
  const { options, strategy, ranks, backend, device, processors, threads, createdAt } = facts;
  const chosen = { strategy, ranks, backend, device, processors, threads, createdAt };
  return flattenConfig({ ...(options as RunConfig), ...chosen });
}

export interface CurveRequest {
  readonly axis: Axis;
  readonly width: number;
  /** Undefined: all. */
  readonly range: { readonly from: number; readonly to: number } | undefined;
}

/** The curves of runs. One run has a curve for each of its first ranks, where ranks differ. */
export function drawCurves(runs: readonly WatchedRun[], request: CurveRequest): CurveSet {
  const { axis, width } = request;
  const curves = CURVES.filter((curve) => curve.axis === axis);
  const { from, to } = request.range ?? wholeRange(runs, curves);
  const drawn = curves.map((curve) => drawCurve(runs, curve, { from, to, width }));
  return { axis, from, to, curves: drawn.filter(({ series }) => series.length > 0) };
}

function drawCurve(runs: readonly WatchedRun[], { id, isPerRank }: Curve, view: View): DrawnCurve {
  const most = isPerRank && runs.length === 1 ? MOST_RANKS : 1;
  const series = runs.flatMap((run) =>
    run.ranks.slice(0, most).flatMap((rank) => {
      const points = rank.series[id];
      if (!points || points.x.length === 0) return [];
      const last = points.y.at(-1)!;
      const about = { run: run.id, rank: rank.rank, last: Number.isFinite(last) ? last : null };
      return [{ ...about, ...pixelColumns(points, view) }];
    }),
  );
  const hiddenRanks = isPerRank && runs.length === 1 ? Math.max(0, runs[0]!.ranks.length - most) : 0;
  return { id, series, hiddenRanks };
}

function wholeRange(runs: readonly WatchedRun[], curves: readonly Curve[]): { from: number; to: number } {
  const ranks = runs.flatMap((run): readonly RankFigures[] => run.ranks);
  const all = ranks.flatMap((rank) => curves.flatMap(({ id }): Points | [] => rank.series[id] ?? []));
  const known = all.filter(({ x }) => x.length > 0);
  if (known.length === 0) return { from: 0, to: 1 };
  const from = Math.min(...known.map(({ x }) => x[0]!));
  const to = Math.max(...known.map(({ x }) => x.at(-1)!));
  // A single point has a picture, too.
  return { from, to: to > from ? to : from + 1 };
}
