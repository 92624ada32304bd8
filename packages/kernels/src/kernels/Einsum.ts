import { backend_util, Einsum, type EinsumAttrs, type EinsumInputs } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { toDtype, wrapElements } from '../families/conversion.js';
import { kernel } from '../kernel.js';

const einsumOf = operator('aten::einsum');

/**
 * The einsum of one or two tensors. tfjs supports neither an ellipsis nor a repeated label in a
 * term.
 */
export const einsum = kernel<EinsumInputs, EinsumAttrs>(
  Einsum,
  ({ inputs, attrs: { equation }, backend }) => {
    const tensors = inputs as unknown as EinsumInputs;
    const { allDims, idDims } = backend_util.decodeEinsumEquation(equation, tensors.length);
    backend_util.checkEinsumDimSizes(allDims.length, idDims, tensors as never);
    const [first] = tensors as [EinsumInputs[number]];
    if (first.dtype !== 'int32' && first.dtype !== 'bool') {
      const natives = tensors.map((x) => backend.native(x));
      return backend.wrap(einsumOf(equation, natives), first.dtype);
    }
    const natives = tensors.map((x) => toDtype(backend.native(x), 'float64'));
    const result: NativeTensor = einsumOf(equation, natives);
    for (const native of natives) native.dispose();
    return wrapElements(backend, result, first.dtype);
  },
);
