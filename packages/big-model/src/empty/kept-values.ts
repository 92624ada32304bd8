import { tmpdir, ValueFile } from '#platform/host-memory';
import { tensor, type Tensor } from '@tensorflow/tfjs-core';
import type { InitialValues } from './empty-weight.js';
import { bytesOf, type Elements } from '../value-bytes.js';
import { valuesDropped } from '../errors.js';

/** A file in the system's temporary folder, and the number of tensors whose values are in it. */
interface Shared {
  readonly file: InstanceType<typeof ValueFile>;
  users: number;
}

/** Takes the values of further tensors. Undefined while no values are kept. */
let shared: Shared | undefined;

/**
 * The values of a tensor, kept without memory: as one number if all elements are equal, else in a
 * file. Disposes the tensor.
 *
 * @throws AccError `ACC_STORAGE_FULL` if the temporary folder is full.
 */
export function keptValues(values: Tensor): InitialValues {
  const { shape, dtype, size } = values;
  const elements = values.dataSync() as Elements;
  values.dispose();
  const kind = elements.constructor as Float32ArrayConstructor;
  const first = elements[0] ?? 0;
  if (isConstant(elements)) {
    return { shape, dtype, make: () => tensor(new kind(size).fill(first), shape, dtype), drop() {} };
  }
  const { read, drop } = written(elements);
  return {
    shape,
    dtype,
    make() {
      const again = new kind(size);
      read(again);
      return tensor(again, shape, dtype);
    },
    drop,
  };
}

function isConstant(elements: Elements): boolean {
  for (let i = 1; i < elements.length; i++) if (!Object.is(elements[i], elements[0])) return false;
  return true;
}

function written(elements: Elements): { read(into: Elements): void; drop(): void } {
  const { byteLength } = elements;
  const own = (shared ??= { file: new ValueFile(tmpdir()), users: 0 });
  own.users++;
  let isDropped = false;
  let start: number | undefined;
  const drop = () => {
    if (isDropped) return;
    isDropped = true;
    if (start !== undefined) own.file.free(start, byteLength);
    if (--own.users > 0) return;
    own.file.close();
    if (shared === own) shared = undefined;
  };
  try {
    start = own.file.reserve(byteLength);
    own.file.write(start, bytesOf(elements));
  } catch (error) {
    drop();
    throw error;
  }
  return {
    read(into) {
      if (isDropped) throw valuesDropped();
      own.file.read(start, bytesOf(into));
    },
    drop,
  };
}
