import { workloads } from './workloads.mjs';

/** The middle value, or the mean of the middle two. */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * One row for each measurement. Times are in ms; `ratio` is our step time through theirs, below 1 where we are
 * faster; `efficiency` is the rate on k ranks through k times that on one rank.
 */
export function summarize(measurements) {
  const rows = measurements.map(({ model, ranks, steps, results }) => {
    const samples = workloads[model].batch * ranks;
    const sides = Object.entries(results).map(([side, runs]) => [side, summarizeSide(runs, steps, samples)]);
    return { model, ranks, parameterCount: workloads[model].parameterCount, ...Object.fromEntries(sides) };
  });
  for (const row of rows) {
    const single = rows.find(({ model, ranks }) => model === row.model && ranks === 1);
    for (const side of ['ours', 'theirs']) {
      if (single && row[side])
        row[side].efficiency = row[side].samplesPerS / (row.ranks * single[side].samplesPerS);
    }
    if (row.ours && row.theirs) row.ratio = row.ours.stepMs / row.theirs.stepMs;
  }
  return rows;
}

function summarizeSide(runs, steps, samples) {
  const stepMs = runs.flatMap(({ blockMs }) => blockMs.map((ms) => ms / steps));
  const busy = runs.flatMap(({ blockMs, cpuMs }) => blockMs.map((ms, i) => cpuMs[i] / ms));
  return {
    stepMs: median(stepMs),
    stepMsMin: Math.min(...stepMs),
    stepMsMax: Math.max(...stepMs),
    samplesPerS: (1e3 * samples) / median(stepMs),
    /** CPU time of a rank through wall time: the threads really at work. */
    coresBusy: median(busy),
    engine: runs[0].engine,
    firstLoss: runs[0].firstLoss,
    lastLoss: runs[0].lastLoss,
  };
}
