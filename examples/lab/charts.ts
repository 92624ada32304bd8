import { parse, View, type Spec } from 'vega';

/** A point of a line. */
export interface Point {
  readonly line: string;
  readonly x: number;
  readonly y: number;
}

export interface Chart {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly points: readonly Point[];
  /** Whether x has few whole numbers, each of which gets a mark. */
  readonly isCount?: boolean;
}

/** Draws lines as SVG. */
export async function drawLines(chart: Chart): Promise<string> {
  const view = new View(parse(specOf(chart)), { renderer: 'none' });
  return `${await view.toSVG()}\n`;
}

function specOf({ title, x, y, points, isCount = false }: Chart): Spec {
  const color = { scale: 'color', field: 'line' };
  const place = { x: { scale: 'x', field: 'x' }, y: { scale: 'y', field: 'y' } };
  const counts = [...new Set(points.map((point) => point.x))];
  return {
    width: 520,
    height: 280,
    padding: 12,
    background: 'white',
    title: { text: title, anchor: 'start' },
    data: [{ name: 'points', values: [...points] }],
    scales: scalesOf(isCount),
    axes: [
      {
        orient: 'bottom',
        scale: 'x',
        title: x,
        tickMinStep: 1,
        ...(isCount ? { values: counts, format: 'd' } : { tickCount: 8 }),
      },
      { orient: 'left', scale: 'y', title: y, grid: true, tickCount: 6 },
    ],
    legends: [
      { stroke: 'color', strokeDash: 'dash', symbolType: 'stroke', symbolSize: 400, orient: 'right' },
    ],
    marks: [
      {
        type: 'group',
        from: { facet: { name: 'series', data: 'points', groupby: 'line' } },
        marks: [
          {
            type: 'line',
            from: { data: 'series' },
            encode: {
              enter: {
                ...place,
                stroke: color,
                strokeWidth: { value: 2.5 },
                strokeDash: { scale: 'dash', field: 'line' },
              },
            },
          },
          {
            type: 'symbol',
            from: { data: 'series' },
            encode: { enter: { ...place, fill: color, size: { value: isCount ? 50 : 0 } } },
          },
        ],
      },
    ],
  };
}

function scalesOf(isCount: boolean): Spec['scales'] {
  return [
    {
      name: 'x',
      type: 'linear',
      domain: { data: 'points', field: 'x' },
      range: 'width',
      zero: false,
      padding: isCount ? 20 : 0,
    },
    {
      name: 'y',
      type: 'linear',
      domain: { data: 'points', field: 'y' },
      range: 'height',
      zero: true,
      nice: true,
    },
    {
      name: 'color',
      type: 'ordinal',
      domain: { data: 'points', field: 'line' },
      range: ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#999999'],
    },
    {
      // Lines that lie on each other stay visible.
      name: 'dash',
      type: 'ordinal',
      domain: { data: 'points', field: 'line' },
      range: [
        [1, 0],
        [10, 6],
        [3, 7],
        [14, 4],
        [2, 3],
      ],
    },
  ];
}
