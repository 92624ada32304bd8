/** A struct of Thrift: its fields by their numbers. Binary fields are their bytes. */
export type ThriftStruct = ReadonlyMap<number, ThriftValue>;
export type ThriftValue = number | boolean | Uint8Array | readonly ThriftValue[] | ThriftStruct;

/** The types of the compact protocol. */
const TYPE = {
  true: 1,
  false: 2,
  byte: 3,
  i16: 4,
  i32: 5,
  i64: 6,
  double: 7,
  binary: 8,
  list: 9,
  struct: 12,
};

/** Parquet's structs are nested less than 10 deep. */
const MAX_DEPTH = 32;
/** The number of 7-bit groups of a 64-bit number. */
const MAX_VARINT_BYTES = 10;

/**
 * Reads structs of Thrift's compact protocol, and checks each length against the bytes that there are.
 *
 * @throws RangeError
 */
export class ThriftReader {
  readonly #view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    public at = 0,
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  struct(depth = 0): ThriftStruct {
    if (depth > MAX_DEPTH) throw new RangeError(`structs are nested more than ${MAX_DEPTH} deep`);
    const fields = new Map<number, ThriftValue>();
    for (let field = 0; ;) {
      const head = this.#view.getUint8(this.at++);
      const type = head & 15;
      if (type === 0) return fields;
      field = head >> 4 ? field + (head >> 4) : this.#zigzag();
      fields.set(field, this.#value(type, depth));
    }
  }

  #value(type: number, depth: number): ThriftValue {
    if (type === TYPE.true || type === TYPE.false) return type === TYPE.true;
    if (type === TYPE.byte) return this.#view.getInt8(this.at++);
    if (type === TYPE.i16 || type === TYPE.i32 || type === TYPE.i64) return this.#zigzag();
    if (type === TYPE.double) return this.#view.getFloat64((this.at += 8) - 8, true);
    if (type === TYPE.binary) {
      const length = this.#length(this.#varint());
      return this.bytes.subarray(this.at, (this.at += length));
    }
    if (type === TYPE.list) return this.#list(depth);
    if (type === TYPE.struct) return this.struct(depth + 1);
    throw new RangeError(`the type ${type} at byte ${this.at} is unknown`);
  }

  #list(depth: number): ThriftValue[] {
    const head = this.#view.getUint8(this.at++);
    const count = this.#length(head >> 4 === 15 ? this.#varint() : head >> 4);
    const type = head & 15;
    const isBool = type === TYPE.true || type === TYPE.false;
    return Array.from({ length: count }, () =>
      isBool ? this.#view.getInt8(this.at++) === 1 : this.#value(type, depth),
    );
  }

  /** Each byte, and each item of a list, takes a byte or more. */
  #length(count: number): number {
    const left = this.bytes.length - this.at;
    if (count <= left) return count;
    throw new RangeError(`a length of ${count} is stated, and ${left} bytes are left`);
  }

  #zigzag(): number {
    const value = this.#varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** One that a double does not hold exactly is rounded. */
  #varint(): number {
    let value = 0;
    for (let i = 0, scale = 1; i < MAX_VARINT_BYTES; i++, scale *= 128) {
      const byte = this.#view.getUint8(this.at++);
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    throw new RangeError(`the number at byte ${this.at} has more than 64 bits`);
  }
}
