import {
  abs,
  concat,
  isFinite,
  max,
  maximum,
  pad,
  reshape,
  slice,
  tensor2d,
  tidy,
  variable,
  where,
  zeros,
  type Tensor,
  type Tensor2D,
  type Variable,
} from '@tensorflow/tfjs-core';
import { AccError, FACTOR_ROLES, type Collective } from '@acc/contract';
import { besideTape } from '@acc/tfjs-internals';

/** The histories of weights, in the order of preparation. `rows` has the numbers for each role. */
export type AmaxState = readonly { readonly name: string; readonly rows: readonly (readonly number[])[] }[];

const ROLES = FACTOR_ROLES.length;

/**
 * Delayed scaling, as in Transformer Engine: a scale comes from the largest magnitude of earlier steps. The
 * history of a weight is a variable, so that replays of a recorded step read and note it. Its rows are those
 * of {@link FACTOR_ROLES}. Its first column has the magnitudes of the step so far, and the others those of
 * earlier steps, the newest first; 0 stands for none.
 */
export class AmaxHistories {
  readonly #of = new Map<Variable, Variable>();
  readonly #byData = new WeakMap<object, Variable>();
  /** Loaded histories of weights that are not known yet. */
  #waiting: AmaxState = [];
  /** Whether weights are found by name. Undefined: it is not known yet. */
  #isByName: boolean | undefined;

  constructor(private readonly length: number) {}

  /** Makes a history of each weight that has none, and forgets those of disposed ones. */
  take(weights: readonly Variable[]): void {
    for (const [weight, history] of this.#of) {
      if (!weight.isDisposed) continue;
      history.dispose();
      this.#of.delete(weight);
    }
    for (const weight of weights) if (!this.#of.has(weight)) this.#of.set(weight, this.#create());
    this.#load(this.#live.map(([weight]) => weight));
  }

  /** A forward pass begins. Updates give weights other data. */
  begin(): void {
    for (const [weight, history] of this.#of)
      if (!weight.isDisposed) this.#byData.set(weight.dataId, history);
  }

  /** The history of the weight with this data. */
  of(data: object): Variable | undefined {
    return this.#byData.get(data);
  }

  /** Notes magnitudes that are about to be rounded, for a row of {@link FACTOR_ROLES}. */
  note(history: Variable, row: number, x: Tensor): void {
    if (x.size === 0) return;
    besideTape(() =>
      tidy(() => {
        const amax = reshape(max(abs(x)), [1, 1]);
        const around: [number, number][] = [
          [row, ROLES - 1 - row],
          [0, this.length],
        ];
        history.assign(maximum(history, pad(amax, around)));
      }),
    );
  }

  /**
   * The optimizer has taken a step: the largest of what has been noted, on all of `ranks` if they take it
   * together, becomes the newest of each history. Numbers that are not finite leave none.
   */
  step(ranks: Collective | undefined): void {
    this.#assign(ranks, (history, newest) => {
      const earlier = slice(history, [0, 1], [ROLES, this.length - 1]);
      const none = zeros([ROLES, 1]);
      return concat([none, where(isFinite(newest), newest, none), earlier], 1);
    });
  }

  /** Ranks that have trained alone take steps together again. */
  rejoin(ranks: Collective): void {
    this.#assign(ranks, (_, history) => history, this.length + 1);
  }

  /** Assigns what `next` makes of a history and of the maximum over ranks of its first columns. */
  #assign(
    ranks: Collective | undefined,
    next: (history: Variable, maxima: Tensor2D) => Tensor,
    columns = 1,
  ): void {
    const histories = [...this.#of.values()];
    if (histories.length === 0) return;
    tidy(() => {
      const own = concat(histories.map((history) => slice(history, [0, 0], [ROLES, columns]) as Tensor2D));
      const maxima = ranks && ranks.size > 1 ? (ranks.allReduce(own, 'max') as Tensor2D) : own;
      histories.forEach((history, i) =>
        history.assign(next(history, slice(maxima, [i * ROLES, 0], [ROLES, columns]))),
      );
    });
  }

  /**
   * The histories up to the last one that has numbers. Those after it are of weights that no step has used,
   * such as those of another model, which a resumed process may lack.
   */
  getState(): AmaxState {
    const all = this.#live.map(([{ name }, history]) => ({ name, rows: finiteRows(history) }));
    const end = all.findLastIndex(({ rows }) => isUsed(rows)) + 1;
    return [...all.slice(0, end), ...this.#waiting];
  }

  /** Weights get the histories of their names or, if a model has other names than when it was saved, by order. */
  setState(state: AmaxState): void {
    const all = this.#live;
    const used = all.filter(([, history]) => isUsed(finiteRows(history)));
    for (const [, history] of all) tidy(() => history.assign(zeros(history.shape)));
    this.#waiting = state;
    this.#isByName = undefined;
    this.#load((used.length > 0 ? used : all).map(([weight]) => weight));
  }

  /** A step is about to begin. @throws AccError `ACC_STATE_INVALID` for the state of other weights. */
  requireLoaded(): void {
    if (this.#waiting.length === 0 || this.#isByName) return;
    throw new AccError(
      'ACC_STATE_INVALID',
      `The checkpoint has histories of fp8 for ${this.#waiting.length} weights of other names, and ${this.#of.size} are multiplied in 8 bits.`,
      { help: 'Load it with the options and the model of the run that saved it.' },
    );
  }

  /** Gives what has been loaded to `weights`, or to those of the same names. The rest waits for its weights. */
  #load(weights: readonly Variable[]): void {
    const state = this.#waiting;
    if (state.length === 0 || weights.length === 0) return;
    this.#isByName ??= isOneWithin(state, weights) || undefined;
    if (this.#isByName) {
      const byName = new Map(this.#live.map(([{ name }, history]) => [name, history]));
      for (const { name, rows } of state) this.#fill(byName.get(name), rows);
      this.#waiting = state.filter(({ name }) => !byName.has(name));
    } else if (weights.length >= state.length) {
      state.forEach(({ rows }, i) => this.#fill(this.#of.get(weights[i]!), rows));
      this.#waiting = [];
    }
  }

  #fill(history: Variable | undefined, rows: readonly (readonly number[])[]): void {
    if (history) tidy(() => history.assign(tensor2d(this.#fitted(rows))));
  }

  get #live(): [Variable, Variable][] {
    return [...this.#of].filter(([weight]) => !weight.isDisposed);
  }

  dispose(): void {
    for (const history of this.#of.values()) history.dispose();
    this.#of.clear();
  }

  /** A shorter or longer history keeps the newest magnitudes. */
  #fitted(rows: readonly (readonly number[])[]): number[][] {
    return rows.map((row) => Array.from({ length: this.length + 1 }, (_, i) => row[i] ?? 0));
  }

  #create(): Variable {
    return tidy(() => variable(zeros([ROLES, this.length + 1]), false));
  }
}

function finiteRows(history: Variable): number[][] {
  const rows = history.arraySync() as number[][];
  return rows.map((row) => row.map((amax) => (Number.isFinite(amax) ? amax : 0)));
}

const isUsed = (rows: readonly (readonly number[])[]): boolean => rows.flat().some((amax) => amax > 0);

type Named = readonly { readonly name: string }[];
/** Whether one of the lists has all names of the other. */
function isOneWithin(a: Named, b: Named): boolean {
  const has = (names: Named, others: Named) => {
    const known = new Set(names.map(({ name }) => name));
    return others.every(({ name }) => known.has(name));
  };
  return has(a, b) || has(b, a);
}
