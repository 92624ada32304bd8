import type { DrawnWindow, NameTime, RunDetails, WindowMemory, WindowSummary } from '../server/answers.js';
import type { Range } from './chart.js';
import { addressOf, ask } from './client.js';
import { h, replace } from './dom.js';
import { ago, plain } from './format.js';
import { MemoryChart } from './memory-chart.js';
import { Timeline } from './timeline.js';

/** The part of the page with the steps that were recorded on request. */
export class WindowsView {
  readonly element: HTMLElement;
  readonly #choice = h('select', { id: 'window', onchange: () => this.#choose(Number(this.#choice.value)) });
  readonly #rank = h('select', { id: 'memory-rank', onchange: () => void this.#loadMemory() });
  readonly #download = h('a', { class: 'button', download: '' }, 'Trace for Perfetto');
  readonly #timeline = new Timeline((range) => this.#zoom(range));
  readonly #names = h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Longest work' });
  readonly #memory = new MemoryChart();
  readonly #memoryPart: HTMLElement;
  #run = '';
  #windows: readonly WindowSummary[] = [];
  #shown: WindowSummary | undefined;
  #range: Range;

  constructor(private readonly onError: (error: unknown) => void) {
    this.#memoryPart = h(
      'div',
      {},
      h(
        'div',
        { class: 'row' },
        h('h3', {}, 'Memory by owner'),
        h('span', {}, h('label', { for: 'memory-rank' }, 'of rank '), this.#rank),
      ),
      this.#memory.element,
    );
    const head = h(
      'div',
      { class: 'row' },
      h('h2', {}, 'Recorded steps'),
      h('span', { class: 'row' }, h('label', { for: 'window' }, 'Window'), this.#choice, this.#download),
    );
    this.element = h('section', { hidden: true, 'aria-label': 'Recorded steps' }, head, this.#body());
    // The width, not the height, which grows with what is drawn.
    let width = 0;
    new ResizeObserver(() => {
      if (this.#width === width) return;
      width = this.#width;
      this.#redraw();
    }).observe(this.element);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#redraw());
  }

  draw({ id, windows }: RunDetails): void {
    const isOther = id !== this.#run;
    const isNew = windows[0]?.id !== this.#windows[0]?.id;
    this.#run = id;
    this.#windows = windows;
    this.element.hidden = windows.length === 0;
    if (windows.length === 0) return;
    const options = windows.map((each) => h('option', { value: each.id }, titleOf(each)));
    if (isOther || isNew) {
      this.#choice.replaceChildren(...options);
      this.#choose(windows[0]!.id);
    } else if (changed(this.#shown, windows)) this.#choose(this.#shown!.id);
  }

  #body(): HTMLElement {
    const how = h(
      'p',
      { class: 'small' },
      'The trace has all ranks, operators and shapes. To look at it, open ui.perfetto.dev, choose “Open trace file”, and give it the file; it stays in the browser. This page sends it nowhere.',
    );
    return h('div', { class: 'card window' }, this.#timeline.element, this.#names, this.#memoryPart, how);
  }

  #choose(id: number): void {
    this.#shown = this.#windows.find((each) => each.id === id);
    this.#range = undefined;
    if (!this.#shown) return;
    this.#choice.value = String(id);
    this.#download.href = addressOf('trace', { run: this.#run, id });
    const { memoryOf } = this.#shown;
    this.#rank.replaceChildren(...memoryOf.map((rank) => h('option', { value: rank }, String(rank))));
    this.#memoryPart.hidden = memoryOf.length === 0;
    this.#redraw();
  }

  #zoom(range: Range): void {
    this.#range = range;
    void this.#load();
  }

  #redraw(): void {
    void this.#load();
    void this.#loadMemory();
  }

  async #load(): Promise<void> {
    const [window, range, width] = [this.#shown, this.#range, this.#width];
    if (!window || width <= 0) return;
    try {
      const query = { run: this.#run, id: window.id, width: Timeline.pixels(width), ...range };
      const drawn = await ask<DrawnWindow>('window', query);
      // Meanwhile, a person may have chosen another part.
      if (this.#shown !== window || this.#range !== range) return;
      this.#timeline.draw(drawn, width);
      replace(this.#names, namesTable(drawn));
    } catch (error) {
      this.onError(error);
    }
  }

  async #loadMemory(): Promise<void> {
    const [window, width] = [this.#shown, this.#width];
    if (!window || width <= 0 || window.memoryOf.length === 0) return;
    try {
      const query = { run: this.#run, id: window.id, rank: this.#rank.value };
      const memory = await ask<WindowMemory>('memory', query);
      if (this.#shown === window) this.#memory.draw(memory, width);
    } catch (error) {
      this.onError(error);
    }
  }

  /** The inner width of the card. */
  get #width(): number {
    return Math.floor(this.#names.clientWidth);
  }
}

/** Whether the shown window has more ranks by now. */
function changed(shown: WindowSummary | undefined, windows: readonly WindowSummary[]): boolean {
  const now = windows.find(({ id }) => id === shown?.id);
  return now !== undefined && now.ranks.length !== shown!.ranks.length;
}

function titleOf({ at, steps, ms, ranks }: WindowSummary): string {
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? '' : 's'}`;
  return `${ago(Date.now() - at)}: ${count(steps, 'step')} of ${count(ranks.length, 'rank')}, ${plain(ms)} ms`;
}

/** The times of a part, in words and numbers. */
function namesTable({ ranks, names }: DrawnWindow): HTMLElement {
  const head = ['Operator or collective', 'Calls', ...ranks.map(({ rank }) => `Rank ${rank}`)];
  const rows = names.map(({ lane, name, calls, ms }: NameTime) =>
    h(
      'tr',
      {},
      h('th', { scope: 'row' }, lane === 'collectives' ? `${name} (collective)` : name),
      h('td', {}, String(calls)),
      ...ms.map((time) => h('td', {}, `${plain(time)} ms`)),
    ),
  );
  return h(
    'table',
    { class: 'plain' },
    h('thead', {}, h('tr', {}, ...head.map((text) => h('th', { scope: 'col' }, text)))),
    h('tbody', {}, ...rows),
  );
}
