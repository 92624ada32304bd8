import { Fill, util, type DataType, type FillAttrs } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const full = operator('aten::full');

export const fill = kernel<object, FillAttrs>(Fill, ({ attrs: { shape, value, dtype }, backend }) => {
  const resultDtype = dtype ?? util.inferDtype(value as number);
  if (resultDtype === 'string') {
    const bytes = util.encodeString(value as string);
    return backend.wrapStrings(Array<Uint8Array>(util.sizeFromShape(shape)).fill(bytes), shape);
  }
  return backend.wrap(
    full(shape, element(value as number, resultDtype), resultDtype as NativeDtype),
    resultDtype,
  );
});

/** The value that a typed array of `dtype` would hold. */
function element(value: number, dtype: DataType): number | boolean {
  if (dtype === 'int32') return value | 0;
  return dtype === 'bool' ? Boolean(value) : value;
}
