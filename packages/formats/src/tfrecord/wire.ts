/** The wire types of protocol buffers that `tf.train.Example` has. */
export const WIRE = { varint: 0, fixed64: 1, bytes: 2, fixed32: 5 } as const;

/** Reads a message of protocol buffers. Throws RangeError if it is cut off or has an unknown wire type. */
export class WireReader {
  readonly #view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    public at = 0,
    private readonly end = bytes.length,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    if (this.at > this.end) throw new RangeError('the message is cut off');
    return this.at === this.end;
  }

  /** A number below 2^53: a key or a length. */
  varint(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 53; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new RangeError('a number is too long');
  }

  /** A signed 64-bit number. One that a double does not hold exactly is rounded. */
  int64(): number {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 128) return high * 2 ** 32 + (low >>> 0);
    }
    throw new RangeError('a number is too long');
  }

  float32(): number {
    const value = this.#view.getFloat32(this.at, true);
    this.at += 4;
    return value;
  }

  /** The message, or list, in a field of the wire type `bytes`. */
  inner(): WireReader {
    const { from, to } = this.#range();
    return new WireReader(this.bytes, from, to);
  }

  /** The bytes of a field, where they lie. */
  field(): Uint8Array {
    const { from, to } = this.#range();
    return this.bytes.subarray(from, to);
  }

  skip(wireType: number): void {
    if (wireType === WIRE.varint) this.int64();
    else if (wireType === WIRE.bytes) this.#range();
    else if (wireType === WIRE.fixed32) this.at += 4;
    else if (wireType === WIRE.fixed64) this.at += 8;
    else throw new RangeError(`the wire type ${wireType} is unknown`);
  }

  get bytesLeft(): number {
    return this.end - this.at;
  }

  #byte(): number {
    if (this.at >= this.end) throw new RangeError('the message is cut off');
    return this.bytes[this.at++]!;
  }

  #range(): { readonly from: number; readonly to: number } {
    const length = this.varint();
    const from = this.at;
    const to = from + length;
    if (to > this.end) throw new RangeError('the message is cut off');
    this.at = to;
    return { from, to };
  }
}
