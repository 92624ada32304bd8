import { clone, dispose, Tensor } from '@tensorflow/tfjs-core';
import { isPlainRecord } from '@acc/contract';
import { tensorsIn } from '@acc/data';
import { mapLeaves } from '@acc/tape';
import type { Callback } from '@acc/tfjs-internals';

/** The states of the callbacks of a fit, by key. The second callback of a name has the key `name 2`. */
export type CallbackStates = Readonly<Record<string, unknown>>;

interface Stateful {
  getState(): unknown;
  setState(state: unknown): unknown;
}

/** A callback, or a record of functions. */
type Given = Partial<Callback> & Partial<Stateful> & Record<string, unknown>;

/** The counters of `tf.callbacks.earlyStopping`. */
const COUNTS = ['wait', 'best', 'stoppedEpoch'];
/** The other fields of tfjs's callbacks, which `fit` and the program set. */
const SETTINGS =
  'validationData params model monitor minDelta patience verbose mode baseline currentEpoch yieldEvery';
const OF_TFJS: readonly string[] = [...COUNTS, ...SETTINGS.split(' ')];

/** The callbacks of the running fit. Their states are saved, and set again when a fit is resumed. */
export class FitCallbacks {
  #running: readonly Given[] = [];
  #resumed: CallbackStates = {};
  readonly #told = new WeakSet<object>();

  /** Makes the next fit set the states of a checkpoint. Their tensors are copied. */
  goOnFrom(states: CallbackStates = {}): void {
    dispose(tensorsIn(this.#resumed));
    const isLeaf = (value: unknown) => !Array.isArray(value) && !isPlainRecord(value);
    this.#resumed = mapLeaves(states, isLeaf, (leaf) =>
      leaf instanceof Tensor ? clone(leaf) : leaf,
    ) as CallbackStates;
  }

  /**
   * Begins a fit with its option `callbacks`. They get their states after `onTrainBegin`, which may
   * set them to their beginning. Returns a function that ends the fit.
   */
  begin(value: unknown): () => void {
    const outer = this.#running;
    this.#running = [value ?? []].flat() as Given[];
    const stateful = statefulIn(this.#running);
    for (const [key, state] of Object.entries(this.#resumed)) {
      const found = stateful.get(key);
      if (found) setAfterTrainBegin(...found, state);
      else console.warn(`acc: fit does not have the callback ${key}, whose state was saved.`);
    }
    this.#resumed = {};
    return () => {
      this.#running = outer;
    };
  }

  /** The states for a checkpoint. Outside a fit, those for the next one. */
  async states(): Promise<CallbackStates> {
    const states: Record<string, unknown> = { ...this.#resumed };
    for (const [key, [, stateful]] of statefulIn(this.#running)) states[key] = await stateful.getState();
    return states;
  }

  /** Warns once of each callback that has fields, but no state. */
  warnOfUnsaved(): void {
    for (const callback of this.#running) {
      const isSaved = callback.getState && callback.setState;
      if (isSaved || this.#told.has(callback) || !hasFields(callback)) continue;
      this.#told.add(callback);
      console.warn(
        `acc: saveState does not save the fields of the callback ${callback.constructor.name}. Give it getState() and setState(state), which a resumed fit calls after its onTrainBegin.`,
      );
    }
  }
}

/**
 * Early stopping counts an epoch before other callbacks hear of its end, because they may save the
 * run.
 */
export function stoppingFirst<T>(callbacks: T): T {
  if (!Array.isArray(callbacks) || !('setParams' in ((callbacks[0] ?? {}) as object))) return callbacks;
  const places = (each: Given) => (isEarlyStopping(each) ? 0 : 1);
  return callbacks.toSorted((a: Given, b: Given) => places(a) - places(b)) as T;
}

/** From any copy of tfjs-layers. */
const isEarlyStopping = (callback: Given): boolean => 'monitorFunc' in callback && 'patience' in callback;

function hasFields(callback: Given): boolean {
  return Object.entries(callback).some(
    ([key, value]) => value !== undefined && typeof value !== 'function' && !OF_TFJS.includes(key),
  );
}

function statefulIn(callbacks: readonly Given[]): Map<string, [Given, Stateful]> {
  const found = new Map<string, [Given, Stateful]>();
  for (const callback of callbacks) {
    const stateful = statefulOf(callback);
    if (!stateful) continue;
    const name = isEarlyStopping(callback) ? 'earlyStopping' : callback.constructor.name;
    let key = name;
    for (let turn = 2; found.has(key); turn++) key = `${name} ${turn}`;
    found.set(key, [callback, stateful]);
  }
  return found;
}

function statefulOf(callback: Given): Stateful | undefined {
  if (callback.getState && callback.setState) return callback as Given & Stateful;
  if (!isEarlyStopping(callback)) return undefined;
  const counted = () => COUNTS.filter((key) => key in callback);
  return {
    getState: () => Object.fromEntries(counted().map((key) => [key, callback[key]])),
    setState: (state) => Object.assign(callback, state),
  };
}

function setAfterTrainBegin(callback: Given, stateful: Stateful, state: unknown): void {
  const own = Object.getOwnPropertyDescriptor(callback, 'onTrainBegin');
  const begin = callback.onTrainBegin;
  callback.onTrainBegin = async (logs) => {
    if (own) Object.defineProperty(callback, 'onTrainBegin', own);
    else delete callback.onTrainBegin;
    await begin?.call(callback, logs);
    await stateful.setState(state);
    dispose(tensorsIn(state));
  };
}
