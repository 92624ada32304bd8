import { Fill, util, type FillAttrs } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { operator } from '@acc/native';
import { elementOf } from '../families/conversion.js';
import { kernel } from '../kernel.js';

const full = operator('aten::full');

export const fill = kernel<object, FillAttrs>(Fill, ({ attrs: { shape, value, dtype }, backend }) => {
  const resultDtype = dtype ?? util.inferDtype(value as number);
  if (resultDtype === 'string') {
    const bytes = util.encodeString(value as string);
    return backend.wrapStrings(Array<Uint8Array>(util.sizeFromShape(shape)).fill(bytes), shape);
  }
  return backend.wrap(
    full(shape, elementOf(value as number, resultDtype), resultDtype as NativeDtype),
    resultDtype,
  );
});
