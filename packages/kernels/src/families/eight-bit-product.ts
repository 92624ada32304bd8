import { ROLES_OF } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { emulatesFloat8 } from '../precision/float8.js';
import { activated } from './activation.js';
import { inDtypeOf } from './conversion.js';
import { fp8Product } from './fp8-product.js';
import { int8Product } from './int8-product.js';
import type { EightBits, MatMulAttrs } from './matmul-inputs.js';
import { isEnded } from './product.js';

const add = operator('aten::add.Tensor');

const GRADIENT_FACTORS = ['a', 'b', ''] as const;

interface EndedAttrs extends MatMulAttrs {
  readonly eightBits: EightBits;
  readonly alpha: NativeTensor | undefined;
  readonly device: string;
  readonly amaxes: NativeTensor | undefined;
}

type Factors = readonly [a: NativeTensor, b: NativeTensor, bias: NativeTensor | null];

/**
 * A product in 8 bits with bias and activation. The operator of `int8` adds a bias of one row and applies
 * some activations. Others are applied afterwards. Caller disposes.
 */
export function endedEightBitProduct([a, b, bias]: Factors, attrs: EndedAttrs): NativeTensor {
  const { activation, alpha, leakyreluAlpha, eightBits, transposeA, transposeB, device, amaxes } = attrs;
  const { product } = eightBits;
  const roles = ROLES_OF[product];
  // The gradient of a weight is float32.
  const dtype: 'bfloat16' | 'float32' = roles.includes('weight') ? 'bfloat16' : 'float32';
  if (eightBits.format === 'fp8') {
    const options = { transposeA, transposeB, eightBits, amaxes, dtype, isEmulated: emulatesFloat8(device) };
    return activatedIn(plus(fp8Product(a, b, options), bias), activation, { alpha, leakyreluAlpha });
  }
  const columns = b.shape[transposeB ? 0 : 1];
  const isRow = !bias || (bias.shape.length === 1 && bias.shape[0] === columns);
  const gradientFactor = GRADIENT_FACTORS.at(roles.indexOf('gradient'))!;
  const options = { gradientFactor, dtype, transposeA, transposeB, seed: eightBits.seed } as const;
  const sum = isRow
    ? int8Product(a, b, bias, { ...options, activation })
    : plus(int8Product(a, b, null, options), bias);
  return isRow && isEnded(activation) ? sum : activatedIn(sum, activation, { alpha, leakyreluAlpha });
}

/** Takes ownership of `x`. */
function activatedIn(
  x: NativeTensor,
  activation: MatMulAttrs['activation'],
  { alpha, leakyreluAlpha }: Pick<EndedAttrs, 'alpha' | 'leakyreluAlpha'>,
): NativeTensor {
  using sameAlpha = alpha && inDtypeOf(x, alpha);
  return activated(x, activation, { alpha: sameAlpha, leakyreluAlpha });
}

/** Takes ownership of `x`, whose dtype the sum has. */
function plus(x: NativeTensor, bias: NativeTensor | null): NativeTensor {
  if (!bias) return x;
  using owned = x;
  using same = inDtypeOf(owned, bias);
  return add(owned, same);
}
