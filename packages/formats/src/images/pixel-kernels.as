// AssemblyScript. `node scripts/wasm.mjs` compiles it to pixel-kernels-wasm.ts.
//
// Pixels are bytes, rows without gaps. Loops read up to 15 bytes behind a row and write up to 15 bytes
// behind it, in ascending order, so that later writes replace them: every area needs 16 bytes more.

/** Weights have so many bits of fraction: with the 8 bits of a pixel and a sum they fit in 32. */
const BITS: i32 = 22;
const HALF: i32 = 1 << (BITS - 1);

/**
 * Each pixel becomes the weighted sum of neighbours in its row. `starts` has the first neighbour of
 * each column, `counts` how many there are, and `weights` the weights, `taps` for each column.
 */
export function horizontal(
  from: usize,
  width: i32,
  height: i32,
  channels: i32,
  starts: usize,
  counts: usize,
  weights: usize,
  taps: i32,
  columns: i32,
  to: usize,
): void {
  const rowBytes: usize = width * channels;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < columns; x++) {
      const start = load<i32>(starts + ((<usize>x) << 2));
      const count = load<i32>(counts + ((<usize>x) << 2));
      const first = weights + ((<usize>(x * taps)) << 2);
      let at = from + <usize>(start * channels);
      let sum = i32x4.splat(HALF);
      for (let weight = first, end = first + ((<usize>count) << 2); weight < end; weight += 4) {
        const bytes = v128.load32_zero(at);
        const values = i32x4.extend_low_i16x8_u(i16x8.extend_low_i8x16_u(bytes));
        sum = i32x4.add(sum, i32x4.mul(values, v128.load32_splat(weight)));
        at += channels;
      }
      store<u32>(to, <u32>i32x4.extract_lane(packed(sum), 0));
      to += channels;
    }
    from += rowBytes;
  }
}

/** The same along columns: `rowBytes` sums at a time. */
export function vertical(
  from: usize,
  rowBytes: i32,
  starts: usize,
  counts: usize,
  weights: usize,
  taps: i32,
  rows: i32,
  to: usize,
): void {
  for (let y = 0; y < rows; y++) {
    const start = load<i32>(starts + ((<usize>y) << 2));
    const count = load<i32>(counts + ((<usize>y) << 2));
    const first = weights + ((<usize>(y * taps)) << 2);
    const end = first + ((<usize>count) << 2);
    for (let x = 0; x < rowBytes; x += 16) {
      let at = from + <usize>(start * rowBytes + x);
      let a = i32x4.splat(HALF);
      let b = a;
      let c = a;
      let d = a;
      for (let weight = first; weight < end; weight += 4) {
        const factor = v128.load32_splat(weight);
        const bytes = v128.load(at);
        const low = i16x8.extend_low_i8x16_u(bytes);
        const high = i16x8.extend_high_i8x16_u(bytes);
        a = i32x4.add(a, i32x4.mul(i32x4.extend_low_i16x8_u(low), factor));
        b = i32x4.add(b, i32x4.mul(i32x4.extend_high_i16x8_u(low), factor));
        c = i32x4.add(c, i32x4.mul(i32x4.extend_low_i16x8_u(high), factor));
        d = i32x4.add(d, i32x4.mul(i32x4.extend_high_i16x8_u(high), factor));
        at += rowBytes;
      }
      const left = i16x8.narrow_i32x4_s(i32x4.shr_s(a, BITS), i32x4.shr_s(b, BITS));
      const right = i16x8.narrow_i32x4_s(i32x4.shr_s(c, BITS), i32x4.shr_s(d, BITS));
      v128.store(to + <usize>x, i8x16.narrow_i16x8_u(left, right));
    }
    to += rowBytes;
  }
}

/** The float32 values of bytes, from a table of 256 for each channel. */
export function lookUp(from: usize, bytes: i32, channels: i32, table: usize, to: usize): void {
  const end = from + <usize>bytes;
  while (from < end) {
    for (let values = table, last = table + ((<usize>channels) << 10); values < last; values += 1024) {
      store<f32>(to, load<f32>(values + ((<usize>load<u8>(from)) << 2)));
      from++;
      to += 4;
    }
  }
}

/** Four sums as bytes, in the first lane. */
function packed(sums: v128): v128 {
  const words = i16x8.narrow_i32x4_s(i32x4.shr_s(sums, BITS), i32x4.splat(0));
  return i8x16.narrow_i16x8_u(words, words);
}
