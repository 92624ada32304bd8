export { AccError, isAccError, type Plugin, type ReduceOp, type Strategy } from '@acc/contract';
export { DataLoader } from '@acc/data';
export {
  adafactor,
  adamw,
  lamb,
  lion,
  sgdw,
  type Adafactor,
  type AdafactorOptions,
  type AdamW,
  type AdamWOptions,
  type Lamb,
  type LambOptions,
  type Lion,
  type LionOptions,
  type NameFilter,
  type SgdW,
  type SgdWOptions,
} from '@acc/kernels';
export { Accelerator } from './accelerator.js';
export { installGradientDriver, type BackwardSession, type DriverHooks } from './gradient-driver/driver.js';
export type { AcceleratorOptions, DataLoaderOptions } from './options.js';
