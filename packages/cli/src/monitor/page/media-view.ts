import type { LoggedImage, LoggedTable, RunDetails } from '../server/answers.js';
import { addressOf } from './client.js';
import { h, replace } from './dom.js';

/** The images and tables that the run has logged. */
export class MediaView {
  readonly element: HTMLElement;
  readonly #images = h('div', { class: 'images' });
  readonly #tables = h('div');
  /** The chosen step by name. Undefined: the newest one. */
  readonly #chosen = new Map<string, number>();
  #details: Pick<RunDetails, 'id' | 'images' | 'tables'> = { id: '', images: [], tables: [] };
  #drawn = '';

  constructor() {
    this.element = h(
      'section',
      { hidden: true, 'aria-label': 'Images and tables' },
      h('h2', {}, 'Images and tables'),
      this.#images,
      this.#tables,
    );
  }

  draw(details: RunDetails): void {
    const { id, images, tables } = details;
    const key = JSON.stringify([
      id,
      images.length,
      images.at(-1),
      tables.map(({ key: name, step }) => [name, step]),
    ]);
    if (key === this.#drawn) return;
    this.#drawn = key;
    this.#details = details;
    this.element.hidden = images.length + tables.length === 0;
    this.#drawImages();
    replace(this.#tables, ...tables.map(tableOf));
  }

  #drawImages(): void {
    const { images } = this.#details;
    const names = [...new Set(images.map(({ key }) => key))];
    replace(
      this.#images,
      ...names.map((name) =>
        this.#figure(
          name,
          images.filter(({ key }) => key === name),
        ),
      ),
    );
  }

  #figure(key: string, images: readonly LoggedImage[]): HTMLElement {
    const last = images.length - 1;
    const index = Math.min(this.#chosen.get(key) ?? last, last);
    const { step, file, width, height } = images[index]!;
    const src = addressOf('image', { run: this.#details.id, file });
    const slider = h('input', {
      ...{ type: 'range', min: 0, max: last, value: index, 'data-key': `image-${key}` },
      'aria-label': `Step of ${key}`,
      'aria-valuetext': `step ${step}`,
      oninput: ({ target }: Event) => {
        this.#chosen.set(key, (target as HTMLInputElement).valueAsNumber);
        this.#drawImages();
      },
    });
    return h(
      'figure',
      { class: 'card' },
      h(
        'figcaption',
        {},
        h('h3', {}, key),
        h('span', { class: 'small' }, `step ${step}, ${width} × ${height}`),
      ),
      h('img', { src, alt: `${key} at step ${step}`, width, height }),
      last > 0 && slider,
    );
  }
}

function tableOf({ key, step, columns, rows, rowCount }: LoggedTable): HTMLElement {
  const head = columns.map((name) => h('th', { scope: 'col' }, name));
  const body = rows.map((row) => h('tr', {}, ...row.map((cell) => h('td', {}, cell))));
  const table = h('table', { class: 'plain' }, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...body));
  const note =
    rowCount > rows.length ? `step ${step}, the first ${rows.length} of ${rowCount} rows` : `step ${step}`;
  return h(
    'div',
    { class: 'card logged' },
    h('h3', {}, key, ' ', h('span', { class: 'small' }, note)),
    h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `Table ${key}` }, table),
  );
}
