export { AccError, isAccError, type Plugin, type ReduceOp, type Strategy } from '@acc/contract';
export { DataLoader } from '@acc/data';
export {
  adafactor,
  adamw,
  dropout,
  gelu,
  lamb,
  layerNorm,
  lion,
  rmsNorm,
  rotaryEmbedding,
  scaledDotProductAttention,
  sgdw,
  type Adafactor,
  type AdafactorOptions,
  type AdamW,
  type AdamWOptions,
  type AttentionOptions,
  type DropoutOptions,
  type GeluOptions,
  type Lamb,
  type LambOptions,
  type LayerNormOptions,
  type Lion,
  type LionOptions,
  type NameFilter,
  type RmsNormOptions,
  type RotaryOptions,
  type SgdW,
  type SgdWOptions,
} from '@acc/kernels';
export { Accelerator } from './accelerator.js';
export type { CompiledStep } from './compile/compile.js';
export { installGradientDriver, type BackwardSession, type DriverHooks } from './gradient-driver/driver.js';
export type { AcceleratorOptions, DataLoaderOptions } from './options.js';
