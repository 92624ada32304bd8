/**
 * The three products of a layer, of which a product in 8 bits is one. The gradient of a result, which is
 * factor `a` or `b`, is rounded in a way of its own.
 */
export type EightBitProduct = 'forward' | 'inputGradient' | 'weightGradientA' | 'weightGradientB';

/** The factors of the products of a layer. */
export const FACTOR_ROLES = ['input', 'weight', 'gradient'] as const;
export type FactorRole = (typeof FACTOR_ROLES)[number];

/** The roles of both factors of each product. */
export const ROLES_OF: Readonly<Record<EightBitProduct, readonly [a: FactorRole, b: FactorRole]>> = {
  forward: ['input', 'weight'],
  inputGradient: ['gradient', 'weight'],
  weightGradientA: ['gradient', 'input'],
  weightGradientB: ['input', 'gradient'],
};

/** Rounds to integers, with scales for each row and column. */
export interface Int8Rounding {
  readonly format: 'int8';
  /** The seed of random rounding of gradients. */
  readonly seed: number;
}

/** Rounds to floats of 8 bits. */
export interface Float8Rounding {
  readonly format: 'fp8';
  /** A scale for each factor, or for each row of the first factor and each column of the second one. */
  readonly recipe: 'tensorwise' | 'rowwise';
  /** The type of gradients of results. Other factors are `e4m3`. */
  readonly gradients: 'e4m3' | 'e5m2';
  /** Whether scales are rounded down to powers of two. */
  readonly powerOfTwoScales: boolean;
}

/** How a product rounds both of its factors to 8 bits. */
export type EightBitRounding = Int8Rounding | Float8Rounding;
