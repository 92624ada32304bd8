import type { TrackedImage } from '@acc/contract';
import { encodePng, encodePngAside, type Pixels } from './png.js';

/** Above this many bytes of pixels, compression takes as long as a step and runs on a thread. */
const SMALL_BYTES = 256 * 1024;

/** An image that is compressed once, when the first tracker asks for it. */
export class Picture {
  readonly #pixels: Pixels | undefined;
  #image: TrackedImage | undefined;
  #encoding: Promise<TrackedImage> | undefined;

  constructor(source: Pixels | TrackedImage) {
    if ('png' in source) this.#image = source;
    else this.#pixels = source;
  }

  get bytes(): number {
    return this.#image?.png.length ?? this.#pixels!.data.length;
  }

  /** The image, or a promise of it if compression takes long. */
  get(): TrackedImage | Promise<TrackedImage> {
    if (this.#image || this.#pixels!.data.length <= SMALL_BYTES) return this.getNow();
    const { width, height } = this.#pixels!;
    this.#encoding ??= encodePngAside(this.#pixels!).then((png) => (this.#image = { width, height, png }));
    return this.#encoding;
  }

  getNow(): TrackedImage {
    const { width, height } = this.#image ?? this.#pixels!;
    return (this.#image ??= { width, height, png: encodePng(this.#pixels!) });
  }
}
