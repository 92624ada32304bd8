import type { DrawnLane, DrawnWindow } from '../server/answers.js';
import { movedBy, type Range } from './chart.js';
import { h } from './dom.js';
import { plain } from './format.js';

const ROW = 16;
const GAP = 10;
const AXIS = 20;
const LABEL = 96;
const FONT = '11px system-ui, sans-serif';
/** Ticks have at least this distance. */
const TICK = 90;
/** Narrower spans have no name in them. */
const LEAST_TEXT = 28;
const COLORS = 8;

interface Row {
  readonly label: string;
  readonly lane: DrawnLane;
  readonly y: number;
}

/** The steps of all ranks, one row for each kind of span, on one clock. */
export class Timeline {
  readonly element: HTMLElement;
  readonly #canvas = h('canvas', { tabindex: '0', role: 'img', class: 'timeline' });
  readonly #note = h('p', { class: 'small', 'aria-live': 'off' });
  #rows: readonly Row[] = [];
  #drawn: DrawnWindow = { ms: 1, from: 0, to: 1, ranks: [], names: [] };
  #dragFrom: number | undefined;
  /** Colours of this picture by their name: asking for each span takes long. */
  #colors = new Map<string, string>();

  /** @param onZoom A person has chosen another part. Undefined: all. */
  constructor(private readonly onZoom: (range: Range) => void) {
    this.element = h('div', {}, h('div', { class: 'scroll-y' }, this.#canvas), this.#note);
    const canvas = this.#canvas;
    canvas.addEventListener('keydown', (event) => this.#onKey(event));
    canvas.addEventListener('pointermove', (event) => this.#tell(event));
    canvas.addEventListener('pointerdown', ({ offsetX }) => (this.#dragFrom = offsetX));
    canvas.addEventListener('pointerup', ({ offsetX }) => this.#select(offsetX));
    canvas.addEventListener('dblclick', () => this.onZoom(undefined));
  }

  /** The columns of pixels of a canvas of this width. */
  static pixels(width: number): number {
    return Math.max(50, Math.round((width - LABEL) * devicePixelRatio));
  }

  draw(drawn: DrawnWindow, width: number): void {
    this.#drawn = drawn;
    this.#rows = rowsOf(drawn);
    this.#colors = new Map();
    const height = (this.#rows.at(-1)?.y ?? AXIS) + ROW + GAP;
    const canvas = this.#canvas;
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const context = canvas.getContext('2d')!;
    context.scale(devicePixelRatio, devicePixelRatio);
    context.font = FONT;
    context.textBaseline = 'middle';
    this.#drawAxis(context, width, height);
    for (const row of this.#rows) this.#drawRow(context, row, width);
    const { ms, ranks, from, to } = drawn;
    canvas.setAttribute(
      'aria-label',
      `Timeline of ${ranks.length} ranks, ${plain(from)} to ${plain(to)} ms of ${plain(ms)} ms. Keys: plus and minus zoom, arrows move, 0 shows all. The table below has the times.`,
    );
  }

  #drawAxis(context: CanvasRenderingContext2D, width: number, height: number): void {
    const { from, to } = this.#drawn;
    const distance = niceDistance((to - from) / Math.max(1, (width - LABEL) / TICK));
    context.fillStyle = this.#color('--muted');
    context.strokeStyle = this.#color('--line');
    for (let at = Math.ceil(from / distance) * distance; at <= to; at += distance) {
      const x = this.#xOf(at, width);
      context.beginPath();
      context.moveTo(x, AXIS - 4);
      context.lineTo(x, height);
      context.stroke();
      context.fillText(`${plain(at)} ms`, Math.min(x + 2, width - 48), 8);
    }
  }

  #drawRow(context: CanvasRenderingContext2D, { label, lane, y }: Row, width: number): void {
    context.fillStyle = this.#color('--muted');
    context.fillText(label, 0, y + ROW / 2, LABEL - 6);
    for (const [begin, ms, name, count] of lane.spans) {
      const x = Math.max(LABEL, this.#xOf(begin, width));
      const end = Math.min(width, this.#xOf(begin + ms, width));
      if (end < LABEL) continue;
      context.fillStyle = count === 1 ? this.#color(colorOf(lane.lane, name)) : this.#color('--muted');
      // A gap of half a pixel tells neighbours apart.
      context.fillRect(x, y, Math.max(0.5, end - x - 0.5), ROW - 2);
      if (count > 1 || end - x < LEAST_TEXT) continue;
      context.save();
      context.beginPath();
      context.rect(x, y, end - x - 2, ROW);
      context.clip();
      context.fillStyle = this.#color('--on-span');
      context.fillText(name, x + 3, y + ROW / 2 - 1);
      context.restore();
    }
  }

  #color(name: string): string {
    const known = this.#colors.get(name);
    if (known !== undefined) return known;
    const found = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    this.#colors.set(name, found);
    return found;
  }

  #xOf(at: number, width: number): number {
    const { from, to } = this.#drawn;
    return LABEL + ((at - from) / (to - from)) * (width - LABEL);
  }

  #timeOf(x: number): number {
    const { from, to } = this.#drawn;
    const width = this.#canvas.clientWidth;
    return from + (Math.max(0, x - LABEL) / (width - LABEL)) * (to - from);
  }

  /** Says what is at the pointer. */
  #tell({ offsetX, offsetY }: PointerEvent): void {
    const row = this.#rows.find(({ y }) => offsetY >= y && offsetY < y + ROW);
    const at = this.#timeOf(offsetX);
    const span = row?.lane.spans.find(([begin, ms]) => begin <= at && at <= begin + ms);
    this.#note.textContent = span
      ? `${row!.label}: ${span[3] > 1 ? `${span[3]} spans` : span[2]}, ${plain(span[1])} ms, from ${plain(span[0])} ms on`
      : '\u00A0';
  }

  #select(x: number): void {
    const begin = this.#dragFrom;
    this.#dragFrom = undefined;
    if (begin === undefined || Math.abs(x - begin) < 4) return;
    const [a, b] = [this.#timeOf(begin), this.#timeOf(x)];
    this.onZoom({ from: Math.min(a, b), to: Math.max(a, b) });
  }

  #onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const range = movedBy(event.key, this.#drawn);
    if (range === 'none') return;
    event.preventDefault();
    this.onZoom(range);
  }
}

function rowsOf({ ranks }: DrawnWindow): Row[] {
  const rows: Row[] = [];
  let y = AXIS;
  for (const { rank, lanes } of ranks) {
    for (const lane of lanes) {
      rows.push({ label: `${rank} ${lane.lane}`, lane, y });
      y += ROW;
    }
    y += GAP;
  }
  return rows;
}

/** 1, 2 or 5 times a power of ten, at least as much as given. */
function niceDistance(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((distance) => distance >= least) ?? 10 * power;
}

/** The name of a colour. Operators of one name have one. */
function colorOf(lane: string, name: string): string {
  if (lane === 'collectives') return '--bad';
  if (lane === 'steps') return '--muted';
  let sum = 0;
  for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)!) % 9973;
  return `--line-${sum % COLORS}`;
}
