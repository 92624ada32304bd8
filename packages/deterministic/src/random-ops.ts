import { Tensor, TensorBuffer } from '@tensorflow/tfjs-core';
import {
  bufferInternals,
  engineInternals,
  patch,
  patchProperty,
  type TensorBufferInternals,
} from '@acc/tfjs-internals';
import type { Draws } from './draws.js';

/**
 * The tfjs operators that draw in JavaScript, by the names of their scopes. All other random
 * operators call these.
 */
const SCOPES: ReadonlySet<string> = new Set([
  'randomUniform__op',
  'randomNormal__op',
  'truncatedNormal__op',
  'randomGamma__op',
  'multinomial__op',
]);
/** The scope of draws by a function of the user. They cover this rank's rows only. */
const USERS_SCOPE = 'rand__op';

export interface RandomOpsOptions {
  readonly draws: Draws;
  readonly rank: number;
  readonly size: number;
  /**
   * Called for a drawn tensor with rows of the batch of all ranks. The tensor holds this rank's
   * rows.
   */
  readonly onRows: (x: Tensor) => void;
  /** Called for a drawn tensor whose rows were drawn for this rank only. */
  readonly onOwnRows: (x: Tensor) => void;
}

/**
 * Makes tfjs's random operators take their seeds from `draws`, which are the same on every rank.
 * Tensors with rows are drawn for the batch of all ranks, and this rank's rows are cut out. Returns
 * a function that ends this.
 *
 * An operator draws as many numbers as the buffer that it created holds. Therefore a longer buffer
 * replaces it.
 */
export function drawForAllRanks(options: RandomOpsOptions): () => void {
  const engine = engineInternals();
  let depth = 0;
  let leave = (): void => {};
  const undos = [
    patch(engine, 'startScope', 'random operators', (local) => (name) => {
      local.call(engine, name);
      if (name !== undefined && SCOPES.has(name) && depth++ === 0) leave = enter(options);
    }),
    patch(engine, 'endScope', 'random operators', (local) => (result) => {
      const { name } = engine.state.activeScope;
      const isDrawn = SCOPES.has(name);
      if (isDrawn && --depth === 0) leave();
      local.call(engine, result);
      const hasRows = result instanceof Tensor && options.draws.hasRows(result.shape);
      if (hasRows && isDrawn && name !== 'multinomial__op') options.onRows(result);
      if (hasRows && name === USERS_SCOPE) options.onOwnRows(result);
    }),
  ];
  return () => {
    for (const undo of undos) undo();
  };
}

type Values = TensorBufferInternals['values'];

/**
 * Until the returned function is called, seeds come from `draws`, and buffers with rows have the
 * rows of all ranks.
 */
function enter({ draws, rank, size }: RandomOpsOptions): () => void {
  const undoRandom = patch(Math, 'random', 'random operators', () => () => draws.next() / 2 ** 32);
  const { prototype } = TensorBuffer;
  // A buffer assigns its values in the constructor, after its shape.
  const undoValues = patchProperty(prototype, 'values', {
    set(this: TensorBufferInternals, values: Values) {
      const ofAll = size > 1 && draws.hasRows(this.shape);
      const drawn = ofAll
        ? new (values.constructor as Float32ArrayConstructor)(values.length * size)
        : values;
      defineValues(this, drawn);
      if (!ofAll) return;
      this.toTensor = () => {
        defineValues(this, drawn.slice(rank * values.length, (rank + 1) * values.length));
        return bufferInternals(prototype).toTensor.call(this);
      };
    },
  });
  return () => {
    undoRandom();
    undoValues();
  };
}

function defineValues(buffer: TensorBufferInternals, values: Values): void {
  Object.defineProperty(buffer, 'values', {
    value: values,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
