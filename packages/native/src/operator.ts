import { AccError } from '@acc/contract';
import { addon } from './addon.js';
import {
  disposeResults,
  readOneTensor,
  readResults,
  writeArguments,
  type OperatorArgument,
  type OperatorResult,
} from './call-buffer.js';
import { toAccError } from './errors.js';
import { callObserver, type CallObserver } from './observe-calls.js';
import { placeOfNextCall } from './recorded-places.js';
import type { Tensor } from './tensor.js';

/**
 * A libtorch operator that returns one tensor, by its full name (`aten::add.Tensor`). It is looked
 * up at the first call. Arguments have the order of the schema; trailing ones may be left out. The
 * caller disposes the result.
 *
 * @throws AccError `ACC_OPERATOR_UNKNOWN`, `ACC_OPERATOR_ARGUMENT`, `ACC_OPERATOR_FAILED` (with
 * shapes and dtypes), `ACC_OUT_OF_MEMORY`, `ACC_TENSOR_DISPOSED`, or `ACC_DEVICE_FAILED` of an earlier
 * operator, when called.
 */
/* @__NO_SIDE_EFFECTS__ */
export function operator(name: string): (...args: OperatorArgument[]) => Tensor {
  const run = resolver(name);
  return (...args) => {
    run(args);
    const tensor = readOneTensor();
    if (tensor) return tensor;
    disposeResults();
    throw new AccError('ACC_OPERATOR_FAILED', `${name} did not return exactly one tensor.`, {
      help: 'Call it by operatorWithResults, which returns all results.',
    });
  };
}

/**
 * A libtorch operator with any number and types of results, in the order of the schema. Null stands
 * for an undefined tensor.
 */
/* @__NO_SIDE_EFFECTS__ */
export function operatorWithResults(name: string): (...args: OperatorArgument[]) => OperatorResult[] {
  const run = resolver(name);
  return (...args) => {
    run(args);
    return readResults();
  };
}

/**
 * A libtorch operator that writes its arguments in place. Its results are ignored, because they are
 * its arguments.
 */
/* @__NO_SIDE_EFFECTS__ */
export function operatorInPlace(name: string): (...args: OperatorArgument[]) => void {
  const run = resolver(name);
  return (...args) => run(args);
}

function resolver(name: string): (args: readonly OperatorArgument[]) => void {
  let resolved: { index: number; kinds: number[]; names: string[] } | undefined;
  return (args) => {
    try {
      resolved ??= addon().resolveOperator(name);
      if (placeOfNextCall) addon().placeRecordedCalls(placeOfNextCall());
      writeArguments(resolved.kinds, resolved.names, args);
      if (callObserver) callObserved(name, resolved.index, args, callObserver);
      else addon().call(resolved.index);
    } catch (error) {
      throw toAccError(error);
    }
  };
}

function callObserved(
  name: string,
  index: number,
  args: readonly OperatorArgument[],
  observer: CallObserver,
): void {
  const start = performance.now();
  addon().call(index);
  observer(name, args, performance.now() - start);
}
