import { dispose, tensor2d, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import { shardsDiffer } from '../errors.js';

const DIMS = 4;
/** The dims of keys, values, and perhaps a mask. A literal, which pages leave out of their bundle. */
const LENGTH = 12;

type Shaped = Pick<Tensor, 'shape'>;

/**
 * Compares the shapes of tensors on all ranks.
 *
 * @throws AccError `ACC_CONTEXT_LENGTH` on every rank if they differ.
 */
export function compareShapes(held: readonly Shaped[], ranks: Collective): void {
  const local = tensor2d([numbersOf(held)], [1, LENGTH], 'int32');
  const gathered = ranks.allGather(local, { even: true });
  const numbers = [...gathered.dataSync()];
  dispose([local, gathered]);
  const all = Array.from({ length: ranks.size }, (_, rank) =>
    numbers.slice(rank * LENGTH, (rank + 1) * LENGTH),
  );
  const [first] = all as [number[]];
  const index = first.findIndex((size, i) => all.some((other) => other[i] !== size));
  if (index < 0) return;
  const tensor = Math.floor(index / DIMS);
  throw shardsDiffer(all.map((each) => each.slice(tensor * DIMS, (tensor + 1) * DIMS)));
}

function numbersOf(held: readonly Shaped[]): number[] {
  const shapes = held.flatMap(({ shape }) => [...Array<number>(DIMS - shape.length).fill(1), ...shape]);
  return [...shapes, ...Array<number>(LENGTH - shapes.length).fill(0)];
}
