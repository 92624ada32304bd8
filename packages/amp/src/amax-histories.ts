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

/** The numbers of a history, for each role. */
export type AmaxState = readonly (readonly (readonly number[])[])[];

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
  /** A loaded state, until its weights are known. */
  #loaded: AmaxState | undefined;

  constructor(private readonly length: number) {}

  /** Makes a history of each weight that has none, and forgets those of disposed ones. */
  take(weights: readonly Variable[]): void {
    for (const [weight, history] of this.#of) {
      if (!weight.isDisposed) continue;
      history.dispose();
      this.#of.delete(weight);
    }
    for (const weight of weights) if (!this.#of.has(weight)) this.#of.set(weight, this.#create());
    if (this.#loaded) this.setState(this.#loaded);
  }

  /** A forward pass begins. Updates give weights other data. */
  begin(): void {
    for (const [weight, history] of this.#of) if (!weight.isDisposed) this.#byData.set(weight.dataId, history);
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
  #assign(ranks: Collective | undefined, next: (history: Variable, maxima: Tensor2D) => Tensor, columns = 1): void {
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

  getState(): AmaxState {
    const rows = [...this.#of.values()].map((history) => history.arraySync() as number[][]);
    return rows.map((each) => each.map((row) => row.map((amax) => (Number.isFinite(amax) ? amax : 0))));
  }

  /** @throws AccError `ACC_STATE_INVALID` for the state of other weights. */
  setState(state: AmaxState): void {
    const histories = [...this.#of.values()];
    this.#loaded = histories.length < state.length ? state : undefined;
    if (this.#loaded) return;
    if (histories.length > state.length) {
      throw new AccError(
        'ACC_STATE_INVALID',
        `The checkpoint has histories of fp8 for ${state.length} weights, and ${histories.length} are multiplied in 8 bits.`,
        { help: 'Load it with the options and the model of the run that saved it.' },
      );
    }
    histories.forEach((history, i) => tidy(() => history.assign(tensor2d(this.#fitted(state[i]!)))));
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
