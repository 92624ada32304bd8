const { fround } = Math;

/** How an optimizer updates elements whose moments are packed. */
export interface PackedRule {
  /** The operator `acc::<name>_packed_`. */
  readonly name: 'adamw' | 'lion' | 'momentum';
  /** Its last arguments. */
  readonly constants: readonly (number | boolean)[];
  /**
   * The same for one element, in float32: returns the new weight, and changes the moments in place.
   *
   * @param w The weight.
   * @param g Its gradient.
   * @param s Its moments.
   */
  readonly element: (w: number, g: number, s: number[]) => number;
}

interface Decaying {
  readonly learningRate: number;
  readonly weightDecay: number;
}

/** 1 - learningRate · weightDecay. */
const keptOf = ({ learningRate, weightDecay }: Decaying) => 1 - learningRate * weightDecay;
/** x + weight · (y - x) */
const between = (x: number, y: number, weight: number) => fround(x + fround(fround(y - x) * weight));
const rounded = (constants: readonly number[]) => constants.map(fround);

interface Betas extends Decaying {
  readonly beta1: number;
  readonly beta2: number;
}

/** AdamW. `step` is from 1. */
export function packedAdamW(
  options: Betas & { readonly epsilon: number; readonly step: number },
): PackedRule {
  const { learningRate, beta1, beta2, epsilon, step } = options;
  const [rate, root] = [learningRate / (1 - beta1 ** step), Math.sqrt(1 - beta2 ** step)];
  const constants = [keptOf(options), 1 - beta1, 1 - beta2, rate, root, epsilon];
  const [kept, weight1, weight2, eta, bias, eps] = rounded(constants) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return {
    name: 'adamw',
    constants,
    element: (w, g, s) => {
      const m = (s[0] = between(s[0]!, g, weight1));
      const v = (s[1] = between(s[1]!, fround(g * g), weight2));
      const direction = fround(m / fround(fround(fround(Math.sqrt(v)) / bias) + eps));
      return fround(fround(w * kept) - fround(direction * eta));
    },
  };
}

/** Lion. */
export function packedLion(options: Betas): PackedRule {
  const { learningRate, beta1, beta2 } = options;
  const constants = [keptOf(options), 1 - beta1, 1 - beta2, learningRate];
  const [kept, weight1, weight2, eta] = rounded(constants) as [number, number, number, number];
  return {
    name: 'lion',
    constants,
    element: (w, g, s) => {
      const direction = between(s[0]!, g, weight1);
      s[0] = between(s[0]!, g, weight2);
      return fround(fround(w * kept) - fround(Math.sign(direction) * eta));
    },
  };
}

/** SGD with momentum. */
export function packedMomentum(
  options: Decaying & { readonly momentum: number; readonly nesterov: boolean },
): PackedRule {
  const constants = [keptOf(options), options.momentum, options.learningRate];
  const [kept, momentum, eta] = rounded(constants) as [number, number, number];
  return {
    name: 'momentum',
    constants: [...constants, options.nesterov],
    element: (w, g, s) => {
      const a = (s[0] = fround(fround(s[0]! * momentum) + g));
      const direction = options.nesterov ? fround(fround(a * momentum) + g) : a;
      return fround(fround(w * kept) - fround(direction * eta));
    },
  };
}
