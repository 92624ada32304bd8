import { parameterCountOf, workloads } from './workloads.mjs';

/** The middle value, or the mean of the middle two. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * Returns one row for each measurement. Times are in ms. `ratio` is our step time divided by
 * theirs, so it is below 1 if we are faster. `efficiency` is the rate on k ranks divided by k times
 * the rate on one.
 */
export function summarize(measurements) {
  const rows = measurements.map(({ model, ranks, threads, steps, results }) => {
    const samples = workloads[model].batch * ranks;
    const sides = Object.entries(results).map(([side, runs]) => [
      side,
      { parameterCount: parameterCountOf(model, side), ...summarizeSide(runs, steps, samples) },
    ]);
    return { model, ranks, threads, ...Object.fromEntries(sides), ...compareRepeats(results) };
  });
  for (const row of rows) {
    const isSame = ({ model, threads }) => model === row.model && threads === row.threads;
    const single = rows.find((other) => isSame(other) && other.ranks === 1);
    for (const side of ['ours', 'theirs']) {
      if (single && row[side])
        row[side].efficiency = row[side].samplesPerS / (row.ranks * single[side].samplesPerS);
    }
  }
  return rows;
}

/**
 * The two sides of one repeat ran one after the other. So each repeat has its own ratio, and a
 * machine that changes between repeats does not shift their median.
 */
function compareRepeats({ ours, theirs }) {
  if (!ours || !theirs) return {};
  const ratios = ours.map(({ blockMs }, repeat) => median(blockMs) / median(theirs[repeat].blockMs));
  return { ratio: median(ratios), ratioMin: Math.min(...ratios), ratioMax: Math.max(...ratios) };
}

function summarizeSide(runs, steps, samples) {
  const stepMs = runs.flatMap(({ blockMs }) => blockMs.map((ms) => ms / steps));
  const busy = runs.flatMap(({ blockMs, cpuMs }) => blockMs.map((ms, i) => cpuMs[i] / ms));
  return {
    stepMs: median(stepMs),
    stepMsMin: Math.min(...stepMs),
    stepMsMax: Math.max(...stepMs),
    samplesPerS: (1e3 * samples) / median(stepMs),
    /** CPU time of a rank divided by wall time: the number of threads that really worked. */
    coresBusy: median(busy),
    engine: runs[0].engine,
    firstLoss: runs[0].firstLoss,
    lastLoss: runs[0].lastLoss,
  };
}
