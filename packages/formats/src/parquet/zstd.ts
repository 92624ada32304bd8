/** The first bytes of frames (RFC 8878, section 3.1). */
const MAGIC = 0xfd2fb528;
const MAX_BLOCK_BYTES = 128 * 1024;
/** A window larger than the content, which some levels of compression ask for. */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
/** Blocks that are not full. Compressors write one at the end, or at each flush. */
const MAX_SHORT_BLOCKS = 1024;

/**
 * Checks what the frames of a page and their blocks state of its size. The decoder takes the memory
 * that they ask for.
 *
 * @throws RangeError
 */
export function checkZstd(input: Uint8Array, bytes: number): void {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  let at = 0;
  for (let left = bytes; at < input.length;) {
    if (view.getUint32(at, true) !== MAGIC) throw new RangeError(`no frame of zstd begins at byte ${at}`);
    const header = frameHeader(view, at + 4);
    at = header.at;
    if (header.window > Math.max(MAX_WINDOW_BYTES, 2 * bytes) || (header.content ?? 0) > left) {
      throw new RangeError(`a frame needs ${header.content ?? header.window} bytes, and a page has ${left}`);
    }
    const blocks = checkBlocks(view, at, left);
    at = blocks.at + (header.hasChecksum ? 4 : 0);
    left -= header.content ?? blocks.plain;
  }
  if (at !== input.length) throw new RangeError('a frame of zstd is cut off');
}

function frameHeader(view: DataView, from: number) {
  let at = from;
  const little = (count: number): number => {
    let value = 0;
    for (let i = 0; i < count; i++) value += view.getUint8(at++) * 2 ** (8 * i);
    return value;
  };
  const flags = little(1);
  const isSingle = (flags & 32) !== 0;
  const windowByte = isSingle ? 0 : little(1);
  little([0, 1, 2, 4][flags & 3]!);
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][flags >> 6]!;
  const content = sizeBytes === 0 ? undefined : little(sizeBytes) + (sizeBytes === 2 ? 256 : 0);
  const base = 2 ** (10 + (windowByte >> 3));
  const window = isSingle ? content! : base + (base / 8) * (windowByte & 7);
  return { at, content, window, hasChecksum: (flags & 4) !== 0 };
}

/** The first byte behind the blocks, and the bytes of those whose headers tell them. */
function checkBlocks(view: DataView, from: number, left: number) {
  let plain = 0;
  let compressed = 0;
  for (let at = from; ;) {
    const head = view.getUint16(at, true) + view.getUint8(at + 2) * 65536;
    const type = (head >> 1) & 3;
    const size = head >> 3;
    at += 3 + (type === 1 ? 1 : size);
    if (type === 3 || size > MAX_BLOCK_BYTES || at > view.byteLength) {
      throw new RangeError(`a block of zstd with ${size} bytes and the type ${type} is stated`);
    }
    if (type === 2) compressed++;
    else plain += size;
    if (plain > left || compressed > left / MAX_BLOCK_BYTES + MAX_SHORT_BLOCKS) {
      throw new RangeError(`blocks of zstd state more than the ${left} bytes of a page`);
    }
    if (head & 1) return { at, plain };
  }
}
