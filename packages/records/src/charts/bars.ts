import { frame, legend, LEGEND_HEIGHT, round, text, widthOf, widthOfLegend, type ChartColor } from './svg.js';

const BAR = { width: 420, height: 18, gap: 8 };
const LEFT = 16;
const RIGHT = 80;
const BOTTOM = 12;
const COLORS: readonly ChartColor[] = ['a', 'b', 'c', 'd', 'e', 'f'];

/** A bar that is divided into parts. */
export interface Bar {
  readonly name: string;
  /** The length of each part. */
  readonly parts: readonly number[];
}

export interface BarTexts {
  readonly title: string;
  /** The names of the parts of each bar, at most six. */
  readonly parts: readonly string[];
  readonly unit: string;
  /** A description of the picture for readers who cannot see it. */
  readonly label: string;
}

const total = ({ parts }: Bar): number => parts.reduce((sum, part) => sum + part, 0);

/** Draws bars as SVG, one below the other, on the same scale. */
export function drawBars(bars: readonly Bar[], { title, parts, unit, label }: BarTexts): string {
  const names = Math.max(...bars.map(({ name }) => widthOf(name)));
  const from = LEFT + names + 10;
  const most = Math.max(...bars.map(total));
  const width = Math.ceil(Math.max(from + BAR.width + RIGHT, widthOfLegend(LEFT, title, parts)));
  const height = LEGEND_HEIGHT + 8 + bars.length * (BAR.height + BAR.gap) + BOTTOM;
  const drawn = bars.map((bar, i) => {
    const y = LEGEND_HEIGHT + 8 + i * (BAR.height + BAR.gap);
    return drawBar(bar, { from, y, scale: BAR.width / most, unit });
  });
  const marks = parts.map((name, i) => ({
    name,
    mark: (x: number) =>
      `<rect class="bar ${COLORS[i]!}" x="${round(x + 6)}" y="12" width="18" height="12"/>`,
  }));
  return frame({ width, height, label }, [legend(LEFT, title, marks), ...drawn].join('\n'));
}

interface Place {
  readonly from: number;
  readonly y: number;
  readonly scale: number;
  readonly unit: string;
}

function drawBar(bar: Bar, { from, y, scale, unit }: Place): string {
  let x = from;
  const rects = bar.parts.map((part, i) => {
    const [start, length] = [x, part * scale];
    x += length;
    return `<rect class="bar ${COLORS[i]!}" x="${round(start)}" y="${y}" width="${round(length)}" height="${BAR.height}"/>`;
  });
  return [
    text(from - 10, y + 13, bar.name, 'text-anchor="end"'),
    ...rects,
    text(x + 8, y + 13, `${total(bar).toPrecision(3)} ${unit}`),
  ].join('\n');
}
