/** The fields of a table by their numbers: a number is the size of a scalar in bytes. */
export type TableShape = readonly FieldShape[];

export type FieldShape =
  | number
  | 'string'
  /** A vector of scalars or structs of so many bytes. */
  | { readonly vector: number }
  | { readonly table: () => TableShape }
  | { readonly tables: () => TableShape }
  /** A table, whose shape the scalar in the field before tells. */
  | { readonly union: () => Readonly<Record<number, TableShape>> };

/** The depth of tables within tables, as in FlatBuffers' own verifier. */
const MAX_DEPTH = 64;

/**
 * Checks that all offsets and lengths of a flatbuffer lie within its bytes. The readers that are
 * generated for JavaScript check none of them: they loop over lengths that are not there.
 *
 * @throws RangeError
 */
export function verifyFlatbuffer(bytes: Uint8Array, shape: TableShape): void {
  const verifier = new Verifier(bytes);
  verifier.table(verifier.target(0), shape, 0);
}

class Verifier {
  readonly #view: DataView;
  /**
   * The number of bytes that may still be visited. Writers may share parts, but a few bytes must
   * not become many.
   */
  #budget: number;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#budget = 16 * bytes.byteLength;
  }

  /** The place that the offset at `at` points to. */
  target(at: number): number {
    this.#require(at, 4);
    return at + this.#view.getUint32(at, true);
  }

  table(at: number, shape: TableShape, depth: number): void {
    if (depth > MAX_DEPTH) throw new RangeError(`tables are nested more than ${MAX_DEPTH} deep`);
    this.#require(at, 4);
    const fieldsAt = at - this.#view.getInt32(at, true);
    this.#require(fieldsAt, 4);
    const fieldsBytes = this.#view.getUint16(fieldsAt, true);
    this.#require(fieldsAt, Math.max(fieldsBytes, 4));
    this.#visit(this.#view.getUint16(fieldsAt + 2, true) + fieldsBytes);
    const placeOf = (field: number) => {
      const entry = 4 + 2 * field;
      const offset = entry + 2 <= fieldsBytes ? this.#view.getUint16(fieldsAt + entry, true) : 0;
      return offset === 0 ? undefined : at + offset;
    };
    shape.forEach((kind, field) => {
      const place = placeOf(field);
      if (place === undefined) return;
      if (typeof kind === 'object' && 'union' in kind) {
        const chosen = placeOf(field - 1);
        const variant = chosen === undefined ? undefined : kind.union()[this.#view.getUint8(chosen)];
        if (variant) this.table(this.target(place), variant, depth + 1);
      } else this.#field(place, kind, depth);
    });
  }

  #field(place: number, kind: Exclude<FieldShape, { union: unknown }>, depth: number): void {
    if (typeof kind === 'number') return this.#require(place, kind);
    if (kind === 'string') return void this.#vector(this.target(place), 1);
    if ('vector' in kind) return void this.#vector(this.target(place), kind.vector);
    if ('table' in kind) return this.table(this.target(place), kind.table(), depth + 1);
    const { from, count } = this.#vector(this.target(place), 4);
    for (let i = 0; i < count; i++) this.table(this.target(from + 4 * i), kind.tables(), depth + 1);
  }

  #vector(at: number, elementBytes: number): { readonly from: number; readonly count: number } {
    this.#require(at, 4);
    const count = this.#view.getUint32(at, true);
    this.#require(at + 4, count * elementBytes);
    this.#visit(count * elementBytes);
    return { from: at + 4, count };
  }

  #require(at: number, count: number): void {
    if (at >= 0 && at + count <= this.#view.byteLength) return;
    throw new RangeError(`bytes ${at} to ${at + count} are used, and it has ${this.#view.byteLength}`);
  }

  #visit(count: number): void {
    this.#budget -= count;
    if (this.#budget < 0) throw new RangeError('its parts overlap');
  }
}
