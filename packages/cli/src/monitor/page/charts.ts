import { CURVES, type Axis } from '../curves/catalogue.js';
import type { CurveSet, DrawnSeries } from '../server/answers.js';
import { ask } from './client.js';
import { Chart, movedBy, type Range } from './chart.js';
import { h } from './dom.js';

const AXES: readonly Axis[] = ['step', 'seconds'];
const KEYS = [
  ['−', '-', 'Zoom out'],
  ['+', '+', 'Zoom in'],
  ['←', 'ArrowLeft', 'Earlier'],
  ['→', 'ArrowRight', 'Later'],
  ['All', '0', 'Show all'],
] as const;

/** All charts. Those with the same x axis show the same part of it, and each part is asked for anew. */
export class Charts {
  readonly element = h('div', { class: 'charts' });
  readonly toolbar: HTMLElement;
  readonly #charts = new Map<string, Chart>();
  readonly #chosen: Record<Axis, Range> = { step: undefined, seconds: undefined };
  readonly #shown: Record<Axis, { from: number; to: number }> = {
    step: { from: 0, to: 1 },
    seconds: { from: 0, to: 1 },
  };
  readonly #isLoading: Record<Axis, boolean> = { step: false, seconds: false };
  readonly #isStale: Record<Axis, boolean> = { step: false, seconds: false };
  #runs: readonly string[] = [];

  constructor(
    private readonly given: {
      readonly nameOf: (series: DrawnSeries) => string;
      readonly onError: (error: unknown) => void;
    },
  ) {
    const buttons = KEYS.map(([text, key, label]) =>
      h(
        'button',
        { type: 'button', 'aria-label': label, title: label, onclick: () => this.#press(key) },
        text,
      ),
    );
    this.toolbar = h(
      'div',
      { class: 'toolbar', role: 'toolbar', 'aria-label': 'Part of the curves' },
      ...buttons,
    );
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redraw());
    // The width of a card, not the height of the list, which grows with its charts.
    let width = 0;
    new ResizeObserver(() => {
      if (this.#width === width) return;
      width = this.#width;
      this.refresh();
    }).observe(this.element);
  }

  /** Shows other runs, from their first to their last step. */
  show(runs: readonly string[]): void {
    this.#runs = runs;
    for (const axis of AXES) this.#chosen[axis] = undefined;
    for (const chart of this.#charts.values()) chart.forget();
    this.refresh();
  }

  /** Asks for the curves again. */
  refresh(): void {
    for (const axis of AXES) void this.#load(axis);
  }

  /** Asks one request after the other. What changed meanwhile is asked for again. */
  async #load(axis: Axis): Promise<void> {
    this.#isStale[axis] = true;
    if (this.#isLoading[axis]) return;
    this.#isLoading[axis] = true;
    try {
      while (this.#isStale[axis]) {
        this.#isStale[axis] = false;
        await this.#show(axis);
      }
    } catch (error) {
      this.given.onError(error);
    } finally {
      this.#isLoading[axis] = false;
    }
  }

  async #show(axis: Axis): Promise<void> {
    if (this.#runs.length === 0) return;
    const range = this.#chosen[axis];
    const runs = this.#runs.join();
    const query = { runs, axis, width: Chart.pixels(this.#width), ...range };
    const set = await ask<CurveSet>('curves', query);
    // Meanwhile, a person may have chosen another part, which is asked for next.
    if (this.#chosen[axis] !== range || this.#runs.join() !== runs) return;
    this.#shown[axis] = set;
    this.#draw(set);
  }

  #draw(set: CurveSet): void {
    const there = new Set(set.curves.map(({ id }) => id));
    for (const curve of CURVES.filter(({ axis }) => axis === set.axis)) {
      if (there.has(curve.id) === this.#charts.has(curve.id)) continue;
      if (there.has(curve.id)) this.#charts.set(curve.id, this.#newChart(curve.id));
      else this.#remove(curve.id);
    }
    const ordered = CURVES.flatMap(({ id }) => this.#charts.get(id)?.element ?? []);
    if (
      ordered.some((element, i) => this.element.children[i] !== element) ||
      ordered.length !== this.element.children.length
    )
      this.element.replaceChildren(...ordered);
    const width = this.#width;
    for (const drawn of set.curves) this.#charts.get(drawn.id)!.draw(drawn, set, width);
  }

  #remove(id: string): void {
    this.#charts.get(id)!.forget();
    this.#charts.delete(id);
  }

  #newChart(id: string): Chart {
    const curve = CURVES.find((each) => each.id === id)!;
    const onZoom = (range: Range) => this.#zoom(curve.axis, range);
    return new Chart({ curve, nameOf: this.given.nameOf, onZoom });
  }

  #zoom(axis: Axis, range: Range): void {
    this.#chosen[axis] = range;
    void this.#load(axis);
  }

  #press(key: string): void {
    for (const axis of AXES) {
      const range = movedBy(key, this.#shown[axis]);
      if (range !== 'none') this.#zoom(axis, range);
    }
  }

  #redraw(): void {
    for (const chart of this.#charts.values()) chart.forget();
    this.refresh();
  }

  /** The inner width of a chart. */
  get #width(): number {
    const columns = getComputedStyle(this.element).gridTemplateColumns.split(' ');
    const style = getComputedStyle(this.element);
    const padding = 2 * Number.parseFloat(style.getPropertyValue('--card-padding'));
    const column = Number.parseFloat(columns[0] ?? '');
    return Math.floor((Number.isFinite(column) ? column : this.element.clientWidth) - padding - 2);
  }
}
