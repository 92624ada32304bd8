/** How much memory an optimizer takes, in float32 tensors of the size of all trained parameters. */
interface OptimizerMemory {
  /** The state that stays between steps. `factored`: Adafactor's sums of rows and columns. */
  readonly state: number | 'factored';
  /** Tensors that a step allocates and frees again. Adafactor also makes one tensor of each shape in turn. */
  readonly temporary: number;
}

/** The optimizers of tfjs, and of `@acc/core`. `momentum` is also `sgdw` with momentum. */
const OPTIMIZERS = {
  sgd: { state: 0, temporary: 0 },
  sgdw: { state: 0, temporary: 0 },
  momentum: { state: 1, temporary: 0 },
  adagrad: { state: 1, temporary: 1 },
  rmsprop: { state: 2, temporary: 1 },
  adadelta: { state: 2, temporary: 2 },
  adam: { state: 2, temporary: 0 },
  adamw: { state: 2, temporary: 0 },
  adamax: { state: 2, temporary: 2 },
  lamb: { state: 2, temporary: 2 },
  lion: { state: 1, temporary: 1 },
  adafactor: { state: 'factored', temporary: 2 },
} as const satisfies Readonly<Record<string, OptimizerMemory>>;

export type OptimizerName = keyof typeof OPTIMIZERS;
export const OPTIMIZER_NAMES = Object.keys(OPTIMIZERS) as OptimizerName[];

/** The optimizers whose state may be packed. */
export const PACKING_NAMES: readonly OptimizerName[] = ['adamw', 'lion', 'momentum'];

/** The bits of an element of state, with its share of the scale of a block. */
const PACKED_BITS = { 32: 32, 8: 8 + 32 / 256, 4: 4 + 32 / 128 } as const;

export type StateBits = keyof typeof PACKED_BITS;

/** @param bits For an optimizer of {@link PACKING_NAMES}: those of an element of its state. */
export function memoryOf(name: OptimizerName, bits: StateBits = 32): OptimizerMemory {
  const memory = OPTIMIZERS[name];
  if (memory.state === 'factored' || bits === 32) return memory;
  return { state: (memory.state * PACKED_BITS[bits]) / 32, temporary: 0 };
}

/** The elements of Adafactor's state for a tensor: rows and columns of a matrix, else all. */
export function factoredElements(shape: readonly number[]): number {
  const product = (sizes: readonly number[]) => sizes.reduce((count, size) => count * size, 1);
  if (shape.length < 2) return product(shape) + 1;
  return product(shape.slice(0, -1)) + product([...shape.slice(0, -2), shape.at(-1)!]);
}
