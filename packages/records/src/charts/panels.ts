import { frame, legend, LEGEND_HEIGHT, round, text, widthOfLegend, type ChartColor } from './svg.js';

const PANEL = { width: 220, height: 130 };
const MARGIN = { left: 50, right: 46, top: 30, bottom: 34 };
/** The size of a panel with its margins. */
const cell = () => ({
  width: MARGIN.left + PANEL.width + MARGIN.right,
  height: MARGIN.top + PANEL.height + MARGIN.bottom,
});
const LINE_HEIGHT = 12;

/** A line of a panel, in percent. A value that is undefined is left out. */
export interface ChartLine {
  readonly name: string;
  readonly color: ChartColor;
  readonly isDashed: boolean;
  readonly ys: readonly (number | undefined)[];
}

/** A chart of lines over the same x values. */
export interface Panel {
  readonly title: string;
  readonly xs: readonly number[];
  readonly lines: readonly ChartLine[];
}

export interface PanelTexts {
  /** The quantity in percent. */
  readonly yTitle: string;
  /** The quantity of the x values. */
  readonly xTitle: string;
  /** A description of the picture for readers who cannot see it. */
  readonly label: string;
}

type Scale = (value: number) => number;

/** Draws panels of lines as SVG, in rows and columns. The first panel has the lines of all. */
export function drawPanels(
  rows: readonly (readonly Panel[])[],
  { yTitle, xTitle, label }: PanelTexts,
): string {
  const columns = Math.max(...rows.map((panels) => panels.length));
  const { width: cellWidth, height: cellHeight } = cell();
  const { lines } = rows[0]![0]!;
  const ofLegend = widthOfLegend(
    MARGIN.left,
    yTitle,
    lines.map(({ name }) => name),
  );
  const width = Math.ceil(Math.max(columns * cellWidth, ofLegend));
  const height = rows.length * cellHeight + LEGEND_HEIGHT;
  const top = niceCeiling(Math.max(...rows.flat().flatMap((panel) => panel.lines.flatMap(valuesOf))));
  const panels = rows.flatMap((ofRow, row) =>
    ofRow.map((panel, column) => {
      const at = `translate(${column * cellWidth + MARGIN.left} ${row * cellHeight + LEGEND_HEIGHT + MARGIN.top})`;
      return `<g transform="${at}">${drawPanel(panel, top, xTitle)}</g>`;
    }),
  );
  const marks = lines.map((line) => ({ name: line.name, mark: (x: number) => markOf(line, x) }));
  return frame({ width, height, label }, [legend(MARGIN.left, yTitle, marks), ...panels].join('\n'));
}

function drawPanel({ title, xs, lines }: Panel, top: number, xTitle: string): string {
  const x: Scale = (i) => (xs.length === 1 ? PANEL.width / 2 : (i * PANEL.width) / (xs.length - 1));
  const y: Scale = (percent) => PANEL.height * (1 - percent / top);
  const ticks = Array.from({ length: top / 25 + 1 }, (_, i) => 25 * i).filter((tick) => tick % 50 === 0);
  const grid = ticks.map(
    (tick) =>
      `<line class="grid" x2="${PANEL.width}" y1="${round(y(tick))}" y2="${round(y(tick))}"/>` +
      text(-6, y(tick) + 4, `${tick} %`, 'text-anchor="end"'),
  );
  const xLabels = xs.map((value, i) => text(x(i), PANEL.height + 15, value, 'text-anchor="middle"'));
  return [
    text(0, -12, title, 'class="title"'),
    ...grid,
    ...xLabels,
    text(PANEL.width / 2, PANEL.height + 29, xTitle, 'text-anchor="middle"'),
    ...lines.map((line) => drawLine(line, x, y)),
    ...drawLastValues(lines, x, y),
  ].join('\n');
}

function drawLine({ color, isDashed, ys }: ChartLine, x: Scale, y: Scale): string {
  const points = ys.flatMap((value, i) =>
    value === undefined ? [] : [[round(x(i)), round(y(value))] as const],
  );
  const path = `<polyline class="line ${color}${isDashed ? ' dashed' : ''}" points="${points.map((point) => point.join()).join(' ')}"/>`;
  if (isDashed) return path;
  return (
    path + points.map(([cx, cy]) => `<circle class="dot ${color}" cx="${cx}" cy="${cy}" r="3"/>`).join('')
  );
}

/** Labels beside the last points of the solid lines, without overlaps. */
function drawLastValues(lines: readonly ChartLine[], x: Scale, y: Scale): string[] {
  let above = -Infinity;
  return lines
    .flatMap(({ isDashed, ys, color }) => {
      const last = ys.at(-1);
      return isDashed || last === undefined ? [] : [{ color, last, count: ys.length }];
    })
    .sort((one, other) => other.last - one.last)
    .map(({ color, last, count }) => {
      above = Math.max(y(last) + 4, above + LINE_HEIGHT);
      return text(x(count - 1) + 8, above, `${Math.round(last)} %`, `class="label ${color}"`);
    });
}

const markOf = ({ color, isDashed }: ChartLine, x: number): string =>
  `<line class="line ${color}${isDashed ? ' dashed' : ''}" x1="${round(x)}" x2="${round(x + 24)}" y1="18" y2="18"/>`;

/** The next multiple of 25, and at least 100. */
const niceCeiling = (percent: number): number => Math.max(100, 25 * Math.ceil(percent / 25));
const valuesOf = ({ ys }: ChartLine): number[] => ys.filter((value) => value !== undefined);
