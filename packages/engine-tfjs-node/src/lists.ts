import { scalar, type Tensor } from '@tensorflow/tfjs-core';
import { portableLists } from '@acc/kernels';
import type { ListMath } from '@acc/contract';
import { DataTypes } from './backend.js';
import type { Operators } from './operators.js';
import type { Registers } from './registers.js';

const FLOAT = DataTypes.float32;

/**
 * Operations on lists of tensors. `add` writes into its first list, and `norm` makes no tensors of
 * squares: each reads a tensor once. The other operations are the portable ones, which use tfjs's
 * operators.
 */
export function listsOn(operators: Operators, registers: Registers): ListMath {
  const portable = portableLists();
  const areFloats = (xs: readonly Tensor[]) =>
    xs.every((x) => x.dtype === 'float32' && operators.entryOf(x).dtype === FLOAT);
  return {
    ...portable,
    add(list, others, factor) {
      const isInPlace =
        areFloats(others) &&
        list.every((x, i) => registers.canWrite(x) && x.dataId !== others[i]!.dataId && x.size > 0);
      return isInPlace
        ? addInPlace(operators, registers, { list, others, factor })
        : portable.add(list, others, factor);
    },
    norm: (list) => (areFloats(list) ? norm(operators, list) : portable.norm(list)),
  };
}

interface Sum {
  readonly list: readonly Tensor[];
  readonly others: readonly Tensor[];
  readonly factor: number;
}

/** x ← x - (-factor) · y, which is gradient descent. */
function addInPlace(operators: Operators, registers: Registers, { list, others, factor }: Sum): Tensor[] {
  const attributes = [...operators.floats, operators.flag('use_locking', false)];
  operators.freeing((keep) => {
    const rate = keep(operators.scalar(-factor));
    try {
      list.forEach((x, i) =>
        registers.update([x], ([register]) => {
          const inputs = [register!, rate, operators.idOf(others[i]!)];
          operators.binding.executeOp('ResourceApplyGradientDescent', attributes, inputs, 0);
        }),
      );
    } finally {
      registers.release();
    }
  });
  return [...list];
}

/** L2Loss is half of the sum of squares. */
function norm(operators: Operators, list: readonly Tensor[]): Tensor {
  if (list.length === 0) return scalar(0);
  const { binding, floats } = operators;
  return operators.freeing((keep) => {
    const run = (name: string, ids: readonly number[], attributes = floats) =>
      keep(operators.run(name, attributes, ids).id);
    const halves = list.map((x) => run('L2Loss', [operators.idOf(x)]));
    const count = { name: 'N', type: binding.TF_ATTR_INT, value: halves.length };
    const half = run('AddN', halves, [...floats, count]);
    const sum = run('Mul', [half, keep(operators.scalar(2))]);
    return operators.tensorOf(operators.run('Sqrt', floats, [sum]), 'float32');
  });
}
