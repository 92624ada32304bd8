import { tmpdir } from 'node:os';
import { tensor, type Tensor } from '@tensorflow/tfjs-core';
import type { InitialValues } from './empty-weight.js';
import { bytesOf, type Elements } from '../value-bytes.js';
import { ValueFile } from '../value-file.js';

/** In the system's temporary folder, while any values are kept. */
let file: ValueFile | undefined;
let users = 0;

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
  file ??= new ValueFile(tmpdir());
  const start = file.reserve(elements.byteLength);
  file.write(start, bytesOf(elements));
  users++;
  let isDropped = false;
  return {
    read: (into) => file!.read(start, bytesOf(into)),
    drop() {
      if (isDropped) return;
      isDropped = true;
      if (--users > 0) return;
      file!.close();
      file = undefined;
    },
  };
}
