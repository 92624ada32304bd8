import uPlot from 'uplot';
import type { WindowMemory } from '../server/answers.js';
import { h, replace } from './dom.js';
import { axisLabels, percent, withUnit } from './format.js';

const HEIGHT = 200;
const COLORS = 8;

/** The memory of one rank by owner: areas upon each other over time, and who holds what at the peak. */
export class MemoryChart {
  readonly element: HTMLElement;
  readonly #box = h('div', { class: 'plot', role: 'img' });
  readonly #table = h('div', {
    class: 'scroll',
    tabindex: 0,
    role: 'region',
    'aria-label': 'Memory at the peak',
  });
  #plot: uPlot | undefined;

  constructor() {
    this.element = h('div', { class: 'memory' }, this.#box, this.#table);
  }

  draw(memory: WindowMemory, width: number): void {
    this.#plot?.destroy();
    const { owners, at, bytes } = memory;
    const held = owners.map((_, i) => i).filter((i) => bytes.some((row) => row[i]! > 0));
    const totals = bytes.map((row) => row.reduce((a, b) => a + b, 0));
    const peak = totals.reduce((best, total, i) => (total > totals[best]! ? i : best), 0);
    // The areas that are drawn first lie behind: the whole sum, then the sum without the last owner, and so on.
    const layers = held.map((_, k) =>
      bytes.map((row) => held.slice(0, held.length - k).reduce((sum, i) => sum + row[i]!, 0)),
    );
    const colors = held.map((_, k) => lineColor(held.length - 1 - k));
    this.#plot = new uPlot(optionsOf(width, colors), [[...at], ...layers], this.#box);
    const peakText = withUnit(totals[peak] ?? 0, 'B');
    this.#box.setAttribute(
      'aria-label',
      `Memory of tensors of rank ${memory.rank} by owner, ${peakText} at most.`,
    );
    const rows = held
      .map((i, k) => ({ name: owners[i]!, size: bytes[peak]?.[i] ?? 0, color: lineColor(k) }))
      .sort((a, b) => b.size - a.size)
      .map(({ name, size, color }) => rowOf({ name, size, color, total: totals[peak]! }));
    const head = ['Held by', 'At the peak', 'Share'].map((text) => h('th', { scope: 'col' }, text));
    const table = h(
      'table',
      { class: 'plain' },
      h('thead', {}, h('tr', {}, ...head)),
      h('tbody', {}, ...rows),
    );
    replace(this.#table, h('p', { class: 'small' }, `${peakText} at most in this window`), table);
  }
}

interface OwnerRow {
  readonly name: string;
  readonly size: number;
  readonly color: string;
  readonly total: number;
}

function rowOf({ name, size, color, total }: OwnerRow): HTMLElement {
  const key = h('span', { class: 'key' });
  key.style.background = color;
  return h(
    'tr',
    {},
    h('th', { scope: 'row' }, key, name),
    h('td', {}, withUnit(size, 'B')),
    h('td', {}, percent(size / Math.max(1, total))),
  );
}

function optionsOf(width: number, colors: readonly string[]): uPlot.Options {
  const [text, grid] = [css('--muted'), css('--line')];
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const font = '12px system-ui, sans-serif';
  return {
    ...{ width, height: HEIGHT, legend: { show: false }, padding: [8, 12, 0, 0], cursor: { show: false } },
    scales: { x: { time: false }, y: { range: (_plot, _least, most) => [0, 1.05 * Math.max(1, most)] } },
    series: [
      {},
      ...colors.map((color) => ({ stroke: color, fill: color, width: 0, points: { show: false } })),
    ],
    axes: [
      { ...axis, font, size: 28, values: (...given) => axisLabels(given[1], given[4], 'ms') },
      { ...axis, font, size: 72, values: (...given) => axisLabels(given[1], given[4], 'B') },
    ],
  };
}

const css = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const lineColor = (index: number): string => css(`--line-${index % COLORS}`);
