import { Tensor, TensorBuffer } from '@tensorflow/tfjs-core';
import {
  bufferInternals,
  engineInternals,
  patch,
  patchProperty,
  type TensorBufferInternals,
} from '@acc/tfjs-internals';
import type { Draws } from './draws.js';

/** tfjs's operators that draw in JavaScript, by the names of their scopes; all others that draw are made of these. */
const SCOPES: ReadonlySet<string> = new Set([
  'randomUniform__op',
  'randomNormal__op',
  'truncatedNormal__op',
  'randomGamma__op',
  'multinomial__op',
]);
/** Draws by a function of the user's, for this rank's rows only. */
const USERS_SCOPE = 'rand__op';

export interface RandomOpsOptions {
  readonly draws: Draws;
  readonly rank: number;
  readonly size: number;
  /** A tensor was drawn that has rows of the batch of all ranks, of which it holds this rank's. */
  readonly onRows: (x: Tensor) => void;
  /** A tensor was drawn whose rows are this rank's own affair. */
  readonly onOwnRows: (x: Tensor) => void;
}

/**
 * While tfjs's random operators run they get their seeds from `draws`, the same on every rank; what has rows they draw for the
 * batch of all ranks, and this rank's rows are cut out. Returns what ends it.
 *
 * An operator learns how much to draw from the buffer that it has made; so a longer one is put in its place.
 */
export function drawForAllRanks(options: RandomOpsOptions): () => void {
  const engine = engineInternals();
  let depth = 0;
  let leave = (): void => {};
  const undos = [
    patch(engine, 'startScope', (own) => (name) => {
      own.call(engine, name);
      if (name !== undefined && SCOPES.has(name) && depth++ === 0) leave = enter(options);
    }),
    patch(engine, 'endScope', (own) => (result) => {
      const { name } = engine.state.activeScope;
      const isDrawn = SCOPES.has(name);
      if (isDrawn && --depth === 0) leave();
      own.call(engine, result);
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

/** Until the returned function is called, seeds come from `draws`, and buffers with rows are those of all ranks. */
function enter({ draws, rank, size }: RandomOpsOptions): () => void {
  const undoRandom = patch(Math, 'random', () => () => draws.next() / 2 ** 32);
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
