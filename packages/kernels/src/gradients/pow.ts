import {
  engine,
  pow,
  type GradConfig,
  type KernelConfig,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { engineInternals } from '@acc/tfjs-internals';
import { activeAcc } from '../acc-layer/active-acc.js';
import { constantExponent, constantPowerGradient } from '../families/power.js';
import { kernel } from '../kernel.js';
import { isStandIn, withoutValues } from './saved-shapes.js';

/** dy · n · xⁿ⁻¹ for a power n that is known on the host. */
export const powGrad: KernelConfig = kernel<
  { readonly dy: TensorInfo; readonly x: TensorInfo },
  { readonly exponent: number }
>('PowGrad', ({ inputs: { dy, x }, attrs: { exponent }, backend }) =>
  constantPowerGradient(backend, [dy, x], exponent),
);

/**
 * The gradient of a power. If the exponent is known on the host, the result is not saved, and the
 * gradient is made of products and roots.
 */
export function powGradient(own: GradConfig): GradConfig {
  const config: GradConfig = {
    ...own,
    gradFunc: (dy, saved, attrs) => {
      const [x, exponent, result] = saved as [Tensor, Tensor, Tensor];
      const ofTfjs = () => {
        const y = isStandIn(result) ? pow(x, exponent) : result;
        return own.gradFunc(dy, [x, exponent, y], attrs);
      };
      const constant = activeAcc() ? constantExponent(x, exponent) : undefined;
      if (constant === undefined || engineInternals().isTapeOn()) return ofTfjs();
      return {
        a: () => engine().runKernel('PowGrad', { dy: dy as Tensor, x }, { exponent: constant }),
        b: () => ofTfjs()['b']!(),
      };
    },
  };
  return withoutValues(config, ([x, exponent]) =>
    constantExponent(x!, exponent!) === undefined ? 'none' : 'last',
  );
}
