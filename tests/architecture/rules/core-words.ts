/**
 * Names of implementations. Core contains them only in the options that users write and in the code
 * that creates the objects.
 */
export const FORBIDDEN_IN_CORE = [
  'ddp',
  'fsdp',
  'amp',
  'gloo',
  'nccl',
  'wandb',
  'mlflow',
  'tensorboard',
  'deepspeed',
  'megatron',
];

export const MAY_NAME_THEM = [
  'packages/core/src/presets/plugins.ts',
  'packages/core/src/presets/fsdp-precision.ts',
  'packages/core/src/presets/mesh.ts',
  'packages/core/src/presets/composes.ts',
  'packages/core/src/presets/features.ts',
  'packages/core/src/presets/is-sharding.ts',
  'packages/core/src/presets/ranks-per-host.ts',
  'packages/core/src/presets/without-partner.ts',
  'packages/core/src/presets/sharded-axis.ts',
  'packages/core/src/presets/strategy.ts',
  'packages/core/src/presets/trackers.ts',
  'packages/core/src/options.ts',
  'packages/core/src/collective-options.ts',
  'packages/core/src/mesh-options.ts',
  'packages/core/src/platform/mixed-precision.ts',
  'packages/core/src/platform/mixed-precision.browser.ts',
  'packages/core/src/platform/requirements.browser.ts',
  'packages/core/src/platform/strategies.ts',
  'packages/core/src/platform/strategies.browser.ts',
];
