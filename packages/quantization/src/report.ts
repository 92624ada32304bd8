/** The result for a variable. */
export interface VariableReport {
  /** Bits of a value, with its share of scales and zero points. */
  readonly bits: number;
  /** The ratio of the values' power to that of their errors, in decibels. Infinity if there are none. */
  readonly sqnr: number;
  /** The bytes in memory. */
  readonly bytes: number;
}

/** The result for a layer. */
export interface LayerReport extends VariableReport {
  /** The name of the layer. */
  readonly layer: string;
}

/** Facts of one packed variable. */
export interface PackedFacts {
  readonly size: number;
  readonly bytes: number;
  /** Sums of squares: of the values, and of their errors. */
  readonly signal: number;
  readonly noise: number;
}

/** The report of variables together. */
export function reportOf(facts: readonly PackedFacts[]): VariableReport {
  const total = (key: keyof PackedFacts) => facts.reduce((sum, fact) => sum + fact[key], 0);
  const noise = total('noise');
  return {
    bits: (8 * total('bytes')) / total('size'),
    sqnr: noise === 0 ? Infinity : 10 * Math.log10(total('signal') / noise),
    bytes: total('bytes'),
  };
}
