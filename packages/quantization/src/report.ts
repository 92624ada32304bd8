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
  /** How the numbers of its weights were chosen. */
  readonly method: 'nearest' | 'hqq' | 'gptq' | 'awq' | 'smoothQuant' | 'qat';
  /** The time in which its weights were packed, without that of predicting the batches of calibration. */
  readonly milliseconds: number;
  /**
   * With `gptq` and `awq`: the ratio of the power of its results for the inputs of calibration to that of their errors, in
   * decibels. Of a layer with rounded inputs, those are as they were before.
   */
  readonly outputSqnr?: number;
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
  return {
    bits: (8 * total('bytes')) / total('size'),
    sqnr: decibels(total('signal'), total('noise')),
    bytes: total('bytes'),
  };
}

/** The ratio of two powers. */
export const decibels = (signal: number, noise: number): number =>
  noise === 0 ? Infinity : 10 * Math.log10(signal / noise);
