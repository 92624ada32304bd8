import type { QatOptions, QuantizeOptions } from '@acc/quantization';

/** How a model that was trained in float32 is measured. */
export interface Variant {
  readonly name: string;
  /** Whether products take bfloat16: `mixedPrecision: 'bf16'`. */
  readonly isBf16?: boolean;
  readonly quantize?: QuantizeOptions;
  /** It is trained on with rounded weights, and then packed. */
  readonly qat?: QatOptions;
}

const INT4 = { weights: 'int4', granularity: { group: 32 } } as const;

/** The formats after training, and one with training. */
export const VARIANTS: readonly Variant[] = [
  { name: 'float32' },
  { name: 'bf16 products', isBf16: true },
  { name: 'int8 weights', quantize: { weights: 'int8' } },
  { name: 'int8 weights, dynamic inputs', quantize: { weights: 'int8', activations: 'dynamic' } },
  { name: 'int4 weights, nearest', quantize: INT4 },
  { name: 'int4 weights, HQQ', quantize: { ...INT4, algorithm: 'hqq' } },
  { name: 'nf4 weights', quantize: { weights: 'nf4', granularity: { group: 32 } } },
  { name: 'int4 weights, QAT', qat: INT4 },
];
