import type { Cell, MetricsRow, TrackedHistogram, TrackedTable } from '@acc/contract';

const SYSTEM = 'system/';

/** A title and a series, which are ClearML's two parts of a name. */
export interface Place {
  readonly metric: string;
  readonly variant: string;
}

/** The events of metrics. ClearML stores no NaN and no infinities, so these are lines of the console. */
export function metricEvents(task: string, rows: readonly MetricsRow[]): object[] {
  return rows.flatMap(({ step, metrics, timeMs }) =>
    Object.entries(metrics).map(([name, value]) => {
      if (!Number.isFinite(value)) return lineEvent(task, timeMs, `${name} = ${value} at step ${step}`);
      return { type: 'training_stats_scalar', ...placeOf(name), task, timestamp: timeMs, iter: step, value };
    }),
  );
}

/** A line of the console. */
export function lineEvent(task: string, timeMs: number, msg: string): object {
  return { type: 'log', task, timestamp: timeMs, level: 'info', msg };
}

/** `val/loss` is the series `loss` of the title `val`. System metrics have a title of ClearML's own. */
export function placeOf(name: string): Place {
  if (name.startsWith(SYSTEM)) return { metric: ':monitor:machine', variant: name.slice(SYSTEM.length) };
  const at = name.lastIndexOf('/');
  const [metric, variant] = [name.slice(0, at), name.slice(at + 1)];
  // The name of both would be that of the metric without a title.
  const isWhole = at < 1 || variant === '' || metric === variant;
  return isWhole ? { metric: name, variant: name } : { metric, variant };
}

/** A figure of Plotly that shows a table. */
export function tablePlot({ columns, rows }: TrackedTable): string {
  const cells = columns.map((_, i) => rows.map((row) => shown(row[i]!)));
  return JSON.stringify({
    data: [{ type: 'table', header: { values: columns }, cells: { values: cells } }],
    layout: {},
  });
}

/** JSON has no NaN and no infinities. */
function shown(cell: Cell): Cell {
  return typeof cell === 'number' && !Number.isFinite(cell) ? String(cell) : cell;
}

/** A figure of Plotly that shows a histogram as bars. */
export function histogramPlot({ edges, counts }: TrackedHistogram): string {
  const widths = counts.map((_, i) => edges[i + 1]! - edges[i]!);
  const middles = counts.map((_, i) => (edges[i]! + edges[i + 1]!) / 2);
  return JSON.stringify({
    data: [{ type: 'bar', x: middles, y: counts, width: widths }],
    layout: { bargap: 0 },
  });
}
