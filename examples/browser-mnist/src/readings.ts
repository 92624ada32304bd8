import { PIXELS, SIDE, type Digits } from './digits.js';

const SHOWN = 20;

/** Shows digits that were held back, and what the model reads. */
export class Readings {
  readonly #labels: HTMLElement[] = [];
  readonly #digits: Digits;
  /** The numbers of the shown digits, from all classes. */
  readonly indices: readonly number[];

  constructor(list: HTMLElement, digits: Digits) {
    this.#digits = digits;
    // Of each class some, in turn.
    const perClass = digits.count / 10;
    this.indices = Array.from(
      { length: SHOWN },
      (_, k) => Math.floor((k % 10) * perClass) + 3 * Math.floor(k / 10) + 1,
    );
    list.replaceChildren(...this.indices.map((index) => this.#item(index)));
  }

  /** @param read The digit that the model reads in each shown image. */
  show(read: ArrayLike<number>): void {
    this.#labels.forEach((label, k) => {
      const truth = this.#digits.labels[this.indices[k]!];
      const isRight = read[k] === truth;
      label.textContent = isRight ? String(read[k]) : `${read[k]}, is ${truth}`;
      label.className = isRight ? 'right' : 'wrong';
    });
  }

  #item(index: number): HTMLElement {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = SIDE;
    const image = new ImageData(SIDE, SIDE);
    for (let i = 0; i < PIXELS; i++) {
      const ink = 255 * (1 - this.#digits.images[index * PIXELS + i]!);
      image.data.set([ink, ink, ink, 255], 4 * i);
    }
    canvas.getContext('2d')!.putImageData(image, 0, 0);
    const label = document.createElement('span');
    label.textContent = '?';
    this.#labels.push(label);
    const item = document.createElement('li');
    item.append(canvas, label);
    return item;
  }
}
