import { util } from '@tensorflow/tfjs-core';
import type { RowsAt } from '@acc/contract';

/** What an input of a kernel is made of. */
export type InputState =
  | { readonly kind: 'rows'; readonly at: RowsAt }
  | { readonly kind: 'sum'; readonly scale: number }
  | { readonly kind: 'whole' };

export interface ShardedInput {
  readonly shape: readonly number[];
  readonly state: InputState;
}

/** A kernel's call with inputs that lie in pieces, as rules look at it. */
export class ShardedCall {
  constructor(
    readonly inputs: ReadonlyMap<string, ShardedInput>,
    readonly attrs: Readonly<Record<string, unknown>>,
    /** Of each input that lies in pieces. */
    readonly pieces: number,
  ) {}

  get names(): string[] {
    return [...this.inputs.keys()];
  }

  shape(name: string): readonly number[] {
    return this.inputs.get(name)!.shape;
  }

  /** Where the input's rows lie; undefined for one that isn't there, is whole, or a sum over rows. */
  rows(name: string): RowsAt | undefined {
    const state = this.inputs.get(name)?.state;
    return state?.kind === 'rows' ? state.at : undefined;
  }

  isSum(name: string): boolean {
    return this.inputs.get(name)?.state.kind === 'sum';
  }

  isWhole(name: string): boolean {
    return this.inputs.get(name)?.state.kind === 'whole';
  }

  /** The attribute as dims, counted from 0. */
  dims(attr: string, name: string): number[] {
    return util.parseAxisParam(this.attrs[attr] as number | number[], [...this.shape(name)]);
  }
}
