import { DEEPSPEED_LEFT_OUT } from './deepspeed-left-out.js';
import { DEEPSPEED_PARALLELISM } from './deepspeed-parallelism.js';
import {
  accelerator,
  always,
  changed,
  isDefault,
  leftOut,
  taken,
  without,
  type Outcome,
  type Rule,
  type Rules,
  type ValueAt,
} from './outcome.js';
import { offload } from './zero.js';

const FLOAT32_BYTES = 4;
const DTYPES: Readonly<Record<string, string>> = { fp16: 'fp16', bf16: 'bf16', bfp16: 'bf16' };

const isFp16 = (at: ValueAt): boolean => at('fp16.enabled') === true;
const stageOf = (at: ValueAt): unknown => at('zero_optimization.stage') ?? 0;

type LossScaleName = 'initial' | 'growthInterval' | 'hysteresis' | 'minimum';

/** A rule for a value of a dynamic loss scale, which only fp16 has. */
const ofLossScale =
  (name: LossScaleName, ours: (value: unknown) => unknown = (value) => value): Rule =>
  (value, at) => {
    if (!isFp16(at)) return leftOut('fp16 is not enabled');
    if (at('fp16.loss_scale')) return leftOut('loss_scale gives a static scale');
    return taken(accelerator(`amp.lossScale.${name}`, ours(value)));
  };

/** A rule for a monitor of DeepSpeed, which is a tracker here. */
const tracker =
  (name: string): Rule =>
  (value) =>
    value === true ? taken(accelerator('logWith', [name])) : isDefault();

const BY_TRACKER = 'in the program: initTrackers(project, config, perTracker)';

/** Keys of DeepSpeed's JSON, as of DeepSpeed 0.19. */
export const DEEPSPEED_RULES: Rules = {
  train_batch_size: (value) =>
    leftOut(
      `in the program: new DataLoader(data, { batchSize: ${String(value)} / gradientAccumulationSteps }), with dataLoader.splitBatches`,
    ),
  train_micro_batch_size_per_gpu: (value) =>
    leftOut(`in the program: new DataLoader(data, { batchSize: ${String(value)} })`),
  gradient_clipping: (value) =>
    value === 0 ? isDefault() : taken(accelerator('gradientClipping.norm', value)),
  'bf16.enabled': precision('bf16'),
  'bfloat16.enabled': precision('bf16'),
  'fp16.enabled': precision('fp16'),
  'fp16.loss_scale': lossScale,
  'fp16.initial_scale_power': ofLossScale('initial', (power) => 2 ** Number(power)),
  'fp16.loss_scale_window': ofLossScale('growthInterval'),
  'fp16.hysteresis': ofLossScale('hysteresis'),
  'fp16.min_loss_scale': ofLossScale('minimum'),
  'zero_optimization.reduce_bucket_size': bucketSize,
  'zero_optimization.allgather_bucket_size': without('one bucket size is for gathering and reducing'),
  'zero_optimization.overlap_comm': always('communication always overlaps backward'),
  'zero_optimization.reduce_scatter': always('gradients are always reduced and scattered in stages 2 and 3'),
  'zero_optimization.contiguous_gradients': always('gradients of a unit are always one buffer'),
  'zero_optimization.allgather_partitions': always('weights of a unit are always gathered by one all-gather'),
  'zero_optimization.ignore_unused_parameters': always('variables without a gradient are permitted'),
  'zero_optimization.offload_optimizer.device': (_, at) => offload('optimizer', offloadOf(at)),
  'zero_optimization.offload_param.device': (_, at) => offload('params', offloadOf(at)),
  'zero_optimization.mics_shard_size': shardSize,
  'zero_optimization.zero_hpz_partition_size': (value) =>
    value === 1
      ? isDefault()
      : leftOut("weights have no second partition. fsdp.stage: 'HYBRID_SHARD' divides within a host"),
  communication_data_type: communicationType,
  'tensorboard.enabled': tracker('tensorboard'),
  'tensorboard.*': without(BY_TRACKER),
  'wandb.enabled': tracker('wandb'),
  'wandb.*': without(BY_TRACKER),
  'comet.enabled': tracker('comet'),
  'comet.*': without(BY_TRACKER),
  'csv_monitor.enabled': tracker('csv'),
  'csv_monitor.*': without(BY_TRACKER),
  ...DEEPSPEED_PARALLELISM,
  ...DEEPSPEED_LEFT_OUT,
};

function precision(name: 'bf16' | 'fp16'): Rule {
  return (value) => (value === true ? taken(accelerator('mixedPrecision', name)) : isDefault());
}

/** 0 is a dynamic scale, and another value a static one. */
function lossScale(value: unknown, at: ValueAt): Outcome {
  if (!isFp16(at)) return leftOut('fp16 is not enabled');
  if (value === 0) return isDefault('a dynamic scale');
  return taken(accelerator('amp.lossScale.initial', value), accelerator('amp.lossScale.dynamic', false));
}

/** DeepSpeed counts elements, and large units would cost memory in stage 3. */
function bucketSize(value: unknown, at: ValueAt): Outcome {
  const stage = stageOf(at);
  if (stage === 3) return leftOut('units are layers in stage 3, which fsdp.bucketBytes joins up to 4 MiB');
  const name = stage === 0 ? 'ddp.bucketBytes' : 'fsdp.bucketBytes';
  return changed(
    'in bytes of float32. The default, 25 MiB, overlaps more with backward',
    accelerator(name, Number(value) * FLOAT32_BYTES),
  );
}

const offloadOf = (at: ValueAt) => ({
  stage: at('zero_optimization.stage'),
  optimizer: at('zero_optimization.offload_optimizer.device'),
  params: at('zero_optimization.offload_param.device'),
  folder:
    at('zero_optimization.offload_param.nvme_path') ?? at('zero_optimization.offload_optimizer.nvme_path'),
});

/** MiCS: groups of ranks, each of which has all parameters. */
function shardSize(value: unknown, at: ValueAt): Outcome {
  if (value === -1) return isDefault();
  if (stageOf(at) !== 3) return leftOut('for stage 3 only');
  return taken(accelerator('mesh.data', -1), accelerator('mesh.fsdp', value));
}

function communicationType(value: unknown, at: ValueAt): Outcome {
  if (value === 'fp32') return isDefault();
  const dtype = DTYPES[String(value)];
  if (dtype === undefined) return leftOut('expected fp16, bf16 or fp32');
  const name = stageOf(at) === 0 ? 'ddp.commHook' : 'fsdp.mixedPrecision.reduce';
  return taken(accelerator(name, dtype));
}
