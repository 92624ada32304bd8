import { util } from '@tensorflow/tfjs-core';
import type { RowsAt } from '@acc/contract';

/** The form of a kernel's input. */
export type InputState =
  | { readonly kind: 'rows'; readonly at: RowsAt }
  | { readonly kind: 'sum'; readonly scale: number }
  | { readonly kind: 'whole' };

export interface ShardedInput {
  readonly shape: readonly number[];
  readonly state: InputState;
}

/** A call of a kernel with inputs in shards, as the rules see it. */
export class ShardedCall {
  constructor(
    readonly inputs: ReadonlyMap<string, ShardedInput>,
    readonly attrs: Readonly<Record<string, unknown>>,
    /** The number of shards of each input in shards. */
    readonly shards: number,
  ) {}

  get names(): string[] {
    return [...this.inputs.keys()];
  }

  shape(name: string): readonly number[] {
    return this.inputs.get(name)!.shape;
  }

  /** The position of the rows of an input. Undefined if it is missing, whole, or a sum over rows. */
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

  /** The dims in an attribute, counted from 0. */
  dims(attr: string, name: string): number[] {
    return util.parseAxisParam(this.attrs[attr] as number | number[], [...this.shape(name)]);
  }
}
