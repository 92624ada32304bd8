import { operator, operatorInPlace, type Tensor } from '@acc/native';
import type { Transfer, ValuePlaces } from './value-places.js';

/** Makes page-locked tensors of the host. */
const empty = operator('aten::empty.memory_format');
const narrow = operator('aten::narrow');
const reshape = operator('aten::reshape');
const copy_ = operatorInPlace('aten::copy_');

/**
 * Elements of the longest piece. Allocators round page-locked memory up to a power of two, so longer
 * values would take up to twice their size.
 */
const PIECE = 2 ** 24;

interface Place {
  readonly pieces: readonly Tensor[];
  readonly dtype: string;
}

/**
 * Places in page-locked memory of the host, for values of a device. Copies run on the device, in the
 * order of its stream, so neither reads nor writes wait, and freed memory is used again after its copies.
 */
export class HostMemory implements ValuePlaces {
  readonly #places = new Map<number, Place>();
  #last = 0;
  #isDisposed = false;

  get isDisposed(): boolean {
    return this.#isDisposed;
  }

  /** The number of a place. It has memory from its first write on. */
  reserve(): number {
    return ++this.#last;
  }

  free(place: number): void {
    for (const piece of this.#places.get(place)?.pieces ?? []) piece.dispose();
    this.#places.delete(place);
  }

  read(tensors: readonly Tensor[], places: readonly number[]): Transfer {
    tensors.forEach((tensor, i) => {
      const { pieces } = this.#places.get(places[i]!)!;
      eachPiece(tensor, (part, k) => copy_(part, pieces[k]!, true));
    });
    return ordered();
  }

  write(tensors: readonly Tensor[], places: readonly number[]): Transfer {
    tensors.forEach((tensor, i) => {
      const { pieces } = this.#placeFor(places[i]!, tensor);
      eachPiece(tensor, (part, k) => copy_(pieces[k]!, part, true));
    });
    return ordered();
  }

  dispose(): void {
    this.#isDisposed = true;
    for (const place of this.#places.keys()) this.free(place);
  }

  #placeFor(number: number, tensor: Tensor): Place {
    const { dtype } = tensor;
    const size = sizeOf(tensor);
    const known = this.#places.get(number);
    if (known?.dtype === dtype) return known;
    this.free(number);
    const pieces: Tensor[] = [];
    try {
      for (let start = 0; start < size; start += PIECE) {
        pieces.push(empty([Math.min(PIECE, size - start)], dtype, undefined, 'cpu', true));
      }
    } catch (error) {
      for (const piece of pieces) piece.dispose();
      throw error;
    }
    const place = { pieces, dtype };
    this.#places.set(number, place);
    return place;
  }
}

const sizeOf = ({ shape }: Tensor): number => shape.reduce((size, length) => size * length, 1);

/** Calls `use` with views of a tensor's elements, in order. */
function eachPiece(tensor: Tensor, use: (part: Tensor, index: number) => void): void {
  using flat = reshape(tensor, [-1]);
  const size = sizeOf(tensor);
  for (let start = 0; start < size; start += PIECE) {
    using part = narrow(flat, 0, start, Math.min(PIECE, size - start));
    use(part, start / PIECE);
  }
}

/** Each is a transfer of its own, by which values are told from later ones. */
const ordered = (): Transfer => ({ wait() {} });
