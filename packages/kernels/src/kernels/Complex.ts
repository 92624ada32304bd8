import { Complex, type ComplexInputs } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';

const join = operator('aten::complex');
const to = operator('aten::to.dtype');

export const complex = kernel<ComplexInputs>(Complex, ({ inputs: { real, imag }, backend }) => {
  using realPart = part(backend.native(real));
  using imagPart = part(backend.native(imag));
  return backend.wrap(join(realPart, imagPart), 'complex64');
});

/** Converts to float32, because tfjs has no complex form of integers and 16-bit floats. */
function part(x: NativeTensor): NativeTensor {
  return to(x, 'float32');
}
