import { tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';
import { piecesDiffer } from '../errors.js';

/** A comparison under way. */
export interface Comparison {
  /** Done when the other rank has got this rank's shapes. Undefined: no rank gets them. */
  readonly sending: Pending<void> | undefined;
  /**
   * Waits for the other shapes.
   *
   * @throws AccError `ACC_CONTEXT_LENGTH` if they differ.
   */
  end(): void;
}

export interface ComparedRanks {
  readonly ranks: Collective;
  /** The rank that gets this rank's shapes. */
  readonly toRank: number | undefined;
  /** The rank whose shapes this one gets. */
  readonly fromRank: number | undefined;
}

/** Keys, values, and perhaps a mask. */
const MOST_TENSORS = 3;
const DIMS = 4;
/** Of one length, so that the message needs no header. */
const LENGTH = MOST_TENSORS * DIMS;
const SLOT = { slot: 'shapes' };

/** Compares the shapes of tensors with those of another rank. Nothing waits before its end. */
export function compareShapes(
  held: readonly Tensor[],
  { ranks, toRank, fromRank }: ComparedRanks,
): Comparison {
  const own = numbersOf(held);
  const numbers = tensor1d(own, 'int32');
  const sending = toRank === undefined ? undefined : ranks.sendAsync(numbers, toRank, SLOT);
  numbers.dispose();
  const coming = fromRank === undefined ? undefined : ranks.recvAsync(fromRank, SLOT);
  return {
    sending,
    end() {
      const received = coming?.wait();
      const other = received && [...received.dataSync()];
      received?.dispose();
      if (!other || other.join() === own.join()) return;
      const tensor = Math.floor(other.findIndex((size, i) => size !== own[i]) / DIMS);
      const [ofOther, ofOwn] = [other, own].map((all) => all.slice(tensor * DIMS, (tensor + 1) * DIMS));
      throw piecesDiffer(fromRank!, ofOwn!, ofOther!);
    },
  };
}

function numbersOf(held: readonly Tensor[]): number[] {
  const shapes = held.flatMap(({ shape }) => [...Array<number>(DIMS - shape.length).fill(1), ...shape]);
  return [...shapes, ...Array<number>(LENGTH - shapes.length).fill(0)];
}
