export { AccError, isAccError, type Plugin, type ReduceOp, type Strategy } from '@acc/contract';
export { DataLoader } from '@acc/data';
export { Accelerator } from './accelerator.js';
export { installGradientDriver, type BackwardSession, type DriverHooks } from './gradient-driver/driver.js';
export type { AcceleratorOptions, DataLoaderOptions } from './options.js';
