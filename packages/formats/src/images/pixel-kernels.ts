import { CODE_BASE64 } from './pixel-kernels-wasm.js';

/** TypeScript declares it only for web pages. */
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): void;
}

/** Where the weights of one pass lie, see `pixel-kernels.as`. */
type WeightArgs = [starts: number, counts: number, weights: number, taps: number];

interface Exports {
  readonly memory: Memory;
  horizontal(
    ...args: [from: number, width: number, height: number, channels: number, ...WeightArgs, number, number]
  ): void;
  vertical(...args: [from: number, rowBytes: number, ...WeightArgs, rows: number, to: number]): void;
  lookUp(from: number, bytes: number, channels: number, table: number, to: number): void;
}

/** The loops over pixels, in WebAssembly. Each thread has its own memory for them. */
export interface PixelKernels extends Omit<Exports, 'memory'> {
  /** Makes room for areas of so many bytes, with any content. Returns where they start. */
  areas(...bytes: number[]): number[];
  /** Copies elements to `at`. */
  put(at: number, elements: Uint8Array | Int32Array | Float32Array): void;
  /** The memory, until the next call of `areas`. */
  readonly buffer: ArrayBuffer;
}

/** Kernels read and write up to so many bytes behind an area. */
const MARGIN = 16;
const PAGE_BYTES = 65_536;

let loaded: PixelKernels | undefined;

/** The kernels of this thread. */
export function pixelKernels(): PixelKernels {
  return (loaded ??= load());
}

function load(): PixelKernels {
  const code = new WebAssembly.Module(Buffer.from(CODE_BASE64, 'base64'));
  const { memory, horizontal, vertical, lookUp } = new WebAssembly.Instance(code).exports as Exports;
  return {
    horizontal,
    vertical,
    lookUp,
    areas(...bytes) {
      let end = 0;
      const starts = bytes.map((count) => {
        const start = end;
        end += Math.ceil((count + MARGIN) / MARGIN) * MARGIN;
        return start;
      });
      const missing = end - memory.buffer.byteLength;
      if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
      return starts;
    },
    put(at, elements) {
      const { buffer, byteOffset, byteLength } = elements;
      new Uint8Array(memory.buffer, at, byteLength).set(new Uint8Array(buffer, byteOffset, byteLength));
    },
    get buffer() {
      return memory.buffer;
    },
  };
}
