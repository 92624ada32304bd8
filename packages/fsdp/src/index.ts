export { fsdp } from './fsdp.js';
export {
  resolveFsdpOptions,
  type FsdpDtype,
  type FsdpMixedPrecision,
  type FsdpOptions,
  type FsdpStage,
  type WrapBySize,
} from './options.js';
