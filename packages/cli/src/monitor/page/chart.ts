import uPlot from 'uplot';
import type { Curve } from '../curves/catalogue.js';
import type { DrawnCurve, DrawnSeries } from '../server/answers.js';
import { h } from './dom.js';
import { axisLabels, plain, withUnit } from './format.js';

const HEIGHT = 190;
/** Of the y axis at least, and the margin at the right. */
const BESIDE_PLOT = 40;
const LETTER_WIDTH = 7;
const COLORS = 8;
const PAN = 0.25;
const ZOOM = 0.5;

/** A part of the x axis. Undefined: all of it. */
export type Range = { readonly from: number; readonly to: number } | undefined;

export interface ChartGiven {
  readonly curve: Curve;
  /** The name of a line, in the legend. */
  readonly nameOf: (series: DrawnSeries) => string;
  /** A person has chosen another part of the x axis. */
  readonly onZoom: (range: Range) => void;
}

/** The curves of one figure, with a legend that shows the values at the cursor. */
export class Chart {
  readonly element: HTMLElement;
  readonly #box = h('div', { class: 'plot' });
  readonly #legend = h('ul', { class: 'legend' });
  readonly #note = h('p', { class: 'small' });
  #plot: uPlot | undefined;
  #drawn: DrawnCurve = { id: '', series: [], hiddenRanks: 0 };
  #range: { from: number; to: number } = { from: 0, to: 1 };
  #key = '';

  constructor(private readonly given: ChartGiven) {
    const { title, about } = given.curve;
    this.element = h(
      'figure',
      { class: 'card chart' },
      h('figcaption', {}, h('h3', {}, title), h('span', { class: 'small' }, about)),
      this.#legend,
      this.#box,
      this.#note,
    );
    this.#box.setAttribute('role', 'img');
    this.#box.setAttribute('tabindex', '0');
    this.#box.addEventListener('keydown', (event) => this.#onKey(event));
  }

  /** How many pixels of the screen a curve in a chart of this width has. */
  static pixels(width: number): number {
    return Math.max(50, Math.round((width - BESIDE_PLOT) * devicePixelRatio));
  }

  draw(drawn: DrawnCurve, range: { from: number; to: number }, width: number): void {
    this.#drawn = drawn;
    this.#range = range;
    const key = `${drawn.series.map((series) => this.given.nameOf(series)).join()}`;
    if (key !== this.#key) this.forget();
    this.#key = key;
    const data = dataOf(drawn.series);
    if (!this.#plot) this.#plot = new uPlot(this.#options(width), data, this.#box);
    else this.#plot.batch(() => this.#update(data, width));
    this.#describe();
  }

  /** Removes the picture, so that the next one has the colours of now. */
  forget(): void {
    this.#plot?.destroy();
    this.#plot = undefined;
  }

  #update(data: uPlot.AlignedData, width: number): void {
    if (this.#plot!.width !== width) this.#plot!.setSize({ width, height: HEIGHT });
    this.#plot!.setData(data);
  }

  #options(width: number): uPlot.Options {
    const { curve } = this.given;
    const [text, grid] = [color('--muted'), color('--line')];
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
    const font = '12px system-ui, sans-serif';
    const lines = this.#drawn.series.map((_, i) => ({
      stroke: lineColor(i),
      width: 1.5,
      points: { size: 4 },
    }));
    return {
      ...{ width, height: HEIGHT, legend: { show: false }, padding: [8, 12, 0, 0] },
      scales: { x: { time: false, range: () => [this.#range.from, this.#range.to] } },
      series: [{}, ...lines],
      axes: [
        { ...axis, font, size: 28 },
        {
          ...axis,
          font,
          size: (_plot, labels) => 18 + LETTER_WIDTH * longest(labels ?? []),
          values: (...given) => axisLabels(given[1], given[4], curve.unit),
        },
      ],
      cursor: this.#cursor(),
      hooks: {
        setCursor: [(plot) => this.#showValues(plot.cursor.idx ?? undefined)],
        setSelect: [(plot) => this.#select(plot)],
        draw: [(plot) => this.#markNonFinite(plot)],
      },
    };
  }

  #cursor(): uPlot.Cursor {
    return {
      y: false,
      drag: { x: true, y: false, setScale: false },
      // The cursor of charts with the same axis moves together. A part is chosen in one of them.
      sync: {
        key: this.given.curve.axis,
        filters: { sub: (type) => type === 'mousemove' || type === 'mouseleave', pub: () => true },
      },
      bind: {
        dblclick: () => () => {
          this.given.onZoom(undefined);
          return null;
        },
      },
    };
  }

  #select(plot: uPlot): void {
    const { left, width } = plot.select;
    if (width === 0) return;
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    this.given.onZoom({ from: plot.posToVal(left, 'x'), to: plot.posToVal(left + width, 'x') });
  }

  /** Red marks at the top, where values are NaN or infinite. */
  #markNonFinite({ ctx, bbox, valToPos }: uPlot): void {
    ctx.fillStyle = color('--bad');
    for (const { x } of this.#drawn.series.flatMap(({ nonFinite }) => nonFinite)) {
      const at = valToPos(x, 'x', true);
      ctx.fillRect(Math.round(at) - devicePixelRatio, bbox.top, 2 * devicePixelRatio, bbox.height);
    }
  }

  /** @param index That of the point at the cursor. Undefined: the last values are shown. */
  #showValues(index: number | undefined): void {
    const { curve, nameOf } = this.given;
    const data = this.#plot?.data;
    const x = index === undefined ? undefined : data?.[0][index];
    const items = this.#drawn.series.map((series, i) => {
      const value = x === undefined ? series.last : nearest(series, x);
      const key = h('span', { class: 'key' });
      key.style.background = lineColor(i);
      const text = value === null ? 'not finite' : withUnit(value, curve.unit);
      return h('li', {}, key, nameOf(series), h('strong', {}, text));
    });
    const at =
      x === undefined
        ? undefined
        : `${curve.axis === 'step' ? 'step ' : ''}${plain(x)}${curve.axis === 'step' ? '' : ' s'}`;
    this.#legend.replaceChildren(...items, ...(at ? [h('li', { class: 'small' }, at)] : []));
  }

  #describe(): void {
    const { series, hiddenRanks } = this.#drawn;
    this.#showValues(this.#plot?.cursor.idx ?? undefined);
    const bad = series.flatMap(({ nonFinite }) => nonFinite).reduce((sum, { count }) => sum + count, 0);
    const notes = [
      bad > 0 && `${bad} ${bad === 1 ? 'value is' : 'values are'} NaN or infinite (red lines).`,
      hiddenRanks > 0 && `${hiddenRanks} more ranks are in the table of ranks.`,
    ];
    this.#note.textContent = notes.filter((note) => note !== false).join(' ');
    this.#box.setAttribute('aria-label', this.#spoken());
  }

  /** The curve in words. */
  #spoken(): string {
    const { curve, nameOf } = this.given;
    const lines = this.#drawn.series.map((each) => {
      const known = each.y.filter((value) => value !== null);
      const range =
        known.length > 0
          ? `from ${withUnit(least(known), curve.unit)} to ${withUnit(most(known), curve.unit)}`
          : 'no finite value';
      const last = each.last === null ? 'not finite' : withUnit(each.last, curve.unit);
      return `${nameOf(each)}: ${range}, last ${last}`;
    });
    return `${curve.title}. ${lines.join('. ')}. Keys: plus and minus zoom, arrows move, 0 shows all.`;
  }

  #onKey(event: KeyboardEvent): void {
    // Those are keys of the browser: Ctrl with plus makes letters larger.
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const range = movedBy(event.key, this.#range);
    if (range === 'none') return;
    event.preventDefault();
    this.given.onZoom(range);
  }
}

/** The part of the x axis after a key. */
export function movedBy(key: string, { from, to }: { from: number; to: number }): Range | 'none' {
  const size = to - from;
  const [middle, half] = [(from + to) / 2, size / 2];
  switch (key) {
    case '+':
      return { from: middle - half * ZOOM, to: middle + half * ZOOM };
    case '-':
      return { from: middle - half / ZOOM, to: middle + half / ZOOM };
    case 'ArrowLeft':
      return { from: from - size * PAN, to: to - size * PAN };
    case 'ArrowRight':
      return { from: from + size * PAN, to: to + size * PAN };
    case '0':
      return undefined;
    default:
      return 'none';
  }
}

function dataOf(series: readonly DrawnSeries[]): uPlot.AlignedData {
  const tables = series.map(({ x, y }): uPlot.AlignedData => [[...x], [...y]]);
  return tables.length === 1 ? tables[0]! : uPlot.join(tables);
}

/** The value of the point that is nearest to x. */
function nearest({ x, y, last }: DrawnSeries, at: number): number | null {
  let best = -1;
  for (let i = 0; i < x.length; i++) if (best < 0 || Math.abs(x[i]! - at) < Math.abs(x[best]! - at)) best = i;
  return best < 0 ? last : y[best]!;
}

const longest = (labels: readonly string[]): number => most([0, ...labels.map(({ length }) => length)]);
const least = (values: readonly number[]): number => values.reduce((a, b) => Math.min(a, b), Infinity);
const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), -Infinity);
const color = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const lineColor = (index: number): string => color(`--line-${index % COLORS}`);
