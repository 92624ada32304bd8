import type { MappedTensor, StateLayer } from '@acc/contract';
import { elementBytes, elementsOf, nativeDtypeOf } from '../format/dtypes.js';
import { hexOf, type StoredPart, type StoredTensor } from '../format/manifest.js';
import { ALIGNMENT } from '../format/safetensors.js';
import { corrupt, type Checkpoint } from './open.js';

/** Smaller tensors are read instead, to limit the number of mappings. */
const MAPPED_BYTES = 1024 * 1024;

/** A tensor whose elements stay in their file, and the checks that must run before it is used. */
export interface MappedWant {
  readonly tensor: MappedTensor;
  readonly checks: readonly (() => Promise<void>)[];
}

/** Maps tensors of a checkpoint into memory if their files are on local disks. */
export class TensorMapper {
  readonly #checkpoint: Checkpoint;
  readonly #layer: StateLayer;
  readonly #paths = new Map<string, Promise<string | undefined>>();

  constructor(checkpoint: Checkpoint, layer: StateLayer) {
    this.#checkpoint = checkpoint;
    this.#layer = layer;
  }

  /**
   * @param shape The shape of the requested tensor.
   * @returns Undefined unless the requested tensor is a whole stored tensor, large, in one part,
   * and aligned in its file as tensors in memory are. Kernels compute identical results on aligned
   * elements.
   */
  async map(name: string, stored: StoredTensor, shape: readonly number[]): Promise<MappedWant | undefined> {
    const [part] = stored.parts;
    if (!this.#layer.map || stored.parts.length !== 1 || shape.join() !== stored.shape.join())
      return undefined;
    const bytes = elementsOf(shape) * elementBytes(stored.dtype);
    const isWhole = elementsOf(part!.sizes) === elementsOf(shape);
    if (!isWhole || bytes < MAPPED_BYTES || part!.start % ALIGNMENT > 0) return undefined;
    const path = await this.#pathOf(part!.file);
    if (path === undefined) return undefined;
    const tensor = this.#layer.map(path, part!.start, nativeDtypeOf(stored.dtype, name), shape);
    return tensor && { tensor, checks: this.#checksOf(tensor, part!, bytes) };
  }

  #pathOf(file: string): Promise<string | undefined> {
    const { storage, prefix } = this.#checkpoint.location;
    const path = this.#paths.get(file) ?? Promise.resolve(storage.pathOf?.(prefix + file));
    this.#paths.set(file, path);
    return path;
  }

  #checksOf(tensor: MappedTensor, { key, file, crc32 }: StoredPart, bytes: number): (() => Promise<void>)[] {
    const { index, location } = this.#checkpoint;
    return crc32.map((expected, chunk) => async () => {
      const begin = chunk * index.chunkBytes;
      const sum = await tensor.checksum(begin, Math.min(index.chunkBytes, bytes - begin));
      if (sum === undefined) throw corrupt(location, file, 'it cannot be read');
      if (hexOf(sum) === expected) return;
      throw corrupt(location, file, `the checksum of '${key}' does not match`);
    });
  }
}
