/** Writes one message of protocol buffers (wire format of proto3). */
export class Proto {
  #bytes = Buffer.allocUnsafe(64);
  #length = 0;

  varint(field: number, value: number): this {
    this.#varint(field << 3);
    this.#varint(value);
    return this;
  }

  double(field: number, value: number): this {
    this.#varint((field << 3) | 1);
    this.#room(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
    return this;
  }

  float(field: number, value: number): this {
    this.#varint((field << 3) | 5);
    this.#room(4);
    this.#length = this.#bytes.writeFloatLE(value, this.#length);
    return this;
  }

  /** A text, bytes, or a message in the message. */
  bytes(field: number, value: string | Uint8Array | Proto): this {
    const data =
      typeof value === 'string' ? Buffer.from(value) : value instanceof Proto ? value.done() : value;
    this.#varint((field << 3) | 2);
    this.#varint(data.length);
    this.#room(data.length);
    this.#bytes.set(data, this.#length);
    this.#length += data.length;
    return this;
  }

  done(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #varint(value: number): void {
    this.#room(10);
    // Negative numbers are those of 64 bits.
    let rest = value < 0 ? BigInt.asUintN(64, BigInt(value)) : BigInt(0);
    if (value < 0) {
      for (; rest > 127n; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 127n) | 128;
      this.#bytes[this.#length++] = Number(rest);
      return;
    }
    let left = value;
    for (; left > 127; left = Math.floor(left / 128)) this.#bytes[this.#length++] = (left % 128) | 128;
    this.#bytes[this.#length++] = left;
  }

  #room(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, this.#length + count));
    larger.set(this.done());
    this.#bytes = larger;
  }
}
