import { AccError, type NativeDtype, type NativeTensor } from '@acc/contract';
import { addon } from './addon.js';
import { dtypeOf, scalarTypeOf } from './dtype.js';
import { Tensor } from './tensor.js';

/**
 * The encoding of an argument in the buffer. It must match `ArgKind` in
 * cpp/engine/call/operator_table.h.
 */
export const ArgKind = {
  tensor: 0,
  tensorList: 1,
  int: 2,
  intList: 3,
  float: 4,
  floatList: 5,
  bool: 6,
  boolList: 7,
  scalar: 8,
  string: 9,
  device: 10,
  scalarType: 11,
  scalarList: 12,
} as const;

/**
 * libtorch's undefined tensor. Some kernels accept it for an argument that their schema declares as
 * Tensor; others crash the process. Therefore it must be passed explicitly by this name.
 */
export const UNDEFINED_TENSOR: unique symbol = Symbol('undefined tensor');

/** The type of an operator's argument. `undefined` uses the schema's default; `null` is None. */
export type OperatorArgument =
  | NativeTensor
  | typeof UNDEFINED_TENSOR
  | readonly (NativeTensor | null)[]
  | number
  | readonly number[]
  | boolean
  | readonly boolean[]
  | string
  | null
  | undefined;

const DEFAULT = NaN;
const NONE = -Infinity;
const UNDEFINED = Infinity;
const CAPACITY = 16384;

const input = new Float64Array(CAPACITY);
const output = new Float64Array(CAPACITY);
let connected = false;

const Result = { tensor: 0, undefined: 1, number: 2, tensorList: 3 } as const;

/** Writes the arguments of one call into the buffer that the addon reads. */
export function writeArguments(
  kinds: readonly number[],
  names: readonly string[],
  args: readonly OperatorArgument[],
): void {
  connect();
  input[0] = args.length;
  let at = 1;
  for (let i = 0; i < args.length; i++) {
    const value = args[i];
    if (value === undefined) input[at++] = DEFAULT;
    else if (value === null) input[at++] = NONE;
    else at = writeArgument(kinds[i], names[i], value, at);
  }
}

function connect(): void {
  if (connected) return;
  addon().setCallBuffers(input, output);
  connected = true;
}

/**
 * Replays a segment of a recording with `handles` as its inputs. The handles of the outputs are at
 * the start of the returned buffer.
 */
export function replayHandles(recording: number, segment: number, handles: readonly number[]): Float64Array {
  connect();
  if (handles.length > CAPACITY) {
    throw new AccError('ACC_OPERATOR_ARGUMENT', `A recorded step has ${handles.length} input tensors.`, {
      help: `The limit is ${CAPACITY}. Run the step without compile.`,
    });
  }
  for (let i = 0; i < handles.length; i++) input[i] = handles[i]!;
  addon().replaySegment(recording, segment);
  return output;
}

type Present = Exclude<OperatorArgument, null | undefined>;

function writeArgument(
  kind: number | undefined,
  name: string | undefined,
  value: Present,
  at: number,
): number {
  switch (kind) {
    case ArgKind.tensor:
      input[at] = value === UNDEFINED_TENSOR ? UNDEFINED : (value as Tensor).id;
      return at + 1;
    case ArgKind.int:
    case ArgKind.bool:
      input[at] = Number(value);
      return at + 1;
    case ArgKind.scalarType:
      input[at] = scalarTypeOf(value as NativeDtype);
      return at + 1;
    case ArgKind.float:
      input[at] = 0;
      input[at + 1] = value as number;
      return at + 2;
    case ArgKind.scalar:
      return writeScalar(value as number | boolean, at);
    case ArgKind.string:
    case ArgKind.device:
      input[at] = stringIndex(value as string);
      return at + 1;
    case ArgKind.tensorList:
    case ArgKind.intList:
    case ArgKind.floatList:
    case ArgKind.boolList:
    case ArgKind.scalarList:
      return writeList(kind, value as readonly unknown[], at);
    default:
      throw unpassable(name);
  }
}

function unpassable(name = '?'): AccError {
  return new AccError('ACC_OPERATOR_ARGUMENT', `Argument '${name}' has a type that JavaScript cannot pass.`, {
    help: 'Leave the argument out, if the operator has a default for it.',
  });
}

/**
 * Writes an integer as an integer, so that an int32 tensor keeps its dtype. -0 and numbers outside
 * the range of int64 are written as doubles.
 */
function writeScalar(value: number | boolean, at: number): number {
  if (typeof value === 'boolean') {
    input[at] = 2;
    input[at + 1] = Number(value);
  } else {
    input[at] = Number.isSafeInteger(value) && !Object.is(value, -0) ? 0 : 1;
    input[at + 1] = value;
  }
  return at + 2;
}

function writeList(kind: number, values: readonly unknown[], start: number): number {
  let at = start;
  if (at + 2 * values.length >= CAPACITY) {
    throw new AccError(
      'ACC_OPERATOR_ARGUMENT',
      `A list of ${values.length} arguments is too long for one call.`,
      {
        help: `Split the call: the limit is about ${CAPACITY - 100} numbers for one call.`,
      },
    );
  }
  input[at++] = values.length;
  if (kind === ArgKind.tensorList) {
    for (const tensor of values) input[at++] = tensor === null ? NONE : (tensor as Tensor).id;
  } else if (kind === ArgKind.scalarList) {
    for (const value of values) at = writeScalar(value as number | boolean, at);
  } else {
    for (const value of values) input[at++] = Number(value);
  }
  return at;
}

const stringIndices = new Map<string, number>();

function stringIndex(text: string): number {
  let index = stringIndices.get(text);
  if (index === undefined) {
    index = addon().internString(text);
    stringIndices.set(text, index);
  }
  return index;
}

export type OperatorResult = Tensor | Tensor[] | number | null;

/**
 * The results of the last call, in the order of the schema. Arguments that were written in place
 * are not included.
 *
 * @throws AccError `ACC_DTYPE_UNKNOWN`. All results are then disposed.
 */
export function readResults(): OperatorResult[] {
  return orNone(allResults);
}

/**
 * The only tensor that the last call returned. Undefined if it returned something else.
 *
 * @throws AccError `ACC_DTYPE_UNKNOWN`. The tensor is then disposed.
 */
export function readOneTensor(): Tensor | undefined {
  return output[0] === 1 && output[1] === Result.tensor ? orNone(firstTensor) : undefined;
}

/** Disposes all tensors of the last call if `read` throws, because nobody gets them. */
function orNone<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    disposeResults();
    throw error;
  }
}

/** Disposes all tensors of the last call. For results that nobody has read. */
export function disposeResults(): void {
  for (const at of tensorPlaces()) addon().releaseTensor(output[at]!);
}

const firstTensor = (): Tensor => readTensor(2);

function allResults(): OperatorResult[] {
  const count = output[0]!;
  const results: OperatorResult[] = [];
  let at = 1;
  for (let i = 0; i < count; i++) {
    const tag = output[at++]!;
    if (tag === Result.tensor) {
      results.push(readTensor(at));
      at = afterTensor(at);
    } else if (tag === Result.number) {
      results.push(output[at++]!);
    } else if (tag === Result.tensorList) {
      const length = output[at++]!;
      const list: Tensor[] = [];
      for (let k = 0; k < length; k++) {
        at++;
        list.push(readTensor(at));
        at = afterTensor(at);
      }
      results.push(list);
    } else {
      results.push(null);
    }
  }
  return results;
}

/** The place of each tensor in the results of the last call. */
function* tensorPlaces(): Iterable<number> {
  let at = 1;
  for (let i = 0; i < output[0]!; i++) {
    const tag = output[at++]!;
    if (tag === Result.number) at++;
    let tensors = tag === Result.tensor ? 1 : 0;
    const isList = tag === Result.tensorList;
    if (isList) tensors = output[at++]!;
    for (; tensors > 0; tensors--) {
      if (isList) at++;
      yield at;
      at = afterTensor(at);
    }
  }
}

function readTensor(at: number): Tensor {
  const rank = output[at + 2]!;
  const shape: number[] = [];
  for (let d = 0; d < rank; d++) shape.push(output[at + 3 + d]!);
  return new Tensor(output[at]!, dtypeOf(output[at + 1]!), shape);
}

function afterTensor(at: number): number {
  return at + 3 + output[at + 2]!;
}
