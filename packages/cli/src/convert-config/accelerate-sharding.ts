import {
  accelerator,
  absent,
  always,
  changed,
  isDefault,
  leftOut,
  taken,
  without,
  type Outcome,
  type Rules,
  type ValueAt,
} from './outcome.js';
import { withMissing } from './missing.js';
import { offload, zeroStage } from './zero.js';

const STRATEGIES = ['FULL_SHARD', 'SHARD_GRAD_OP', 'NO_SHARD', 'HYBRID_SHARD', 'HYBRID_SHARD_ZERO2'] as const;
type Strategy = (typeof STRATEGIES)[number];

const WRAPPED = 'each layer is a unit here; in the program: fsdp: { wrap: … }';
const LAUNCHED = 'hosts are started by acc launch on each of them, Slurm, Kubernetes or mpirun';

/** Keys of `fsdp_config`. */
export const FSDP_RULES: Rules = {
  fsdp_version: () => isDefault('versions 1 and 2 are the same here'),
  fsdp_sharding_strategy: sharding,
  fsdp_reshard_after_forward: sharding,
  fsdp_offload_params: (value, at) => {
    if (value !== true) return isDefault();
    if (!isStage3(at)) return leftOut('parameters are offloaded in stage 3 only');
    return changed('optimizer state too', accelerator('fsdp.cpuOffload', true));
  },
  fsdp_backward_prefetch: backwardPrefetch,
  fsdp_backward_prefetch_policy: backwardPrefetch,
  fsdp_forward_prefetch: always('the next unit is always gathered ahead in forward'),
  fsdp_auto_wrap_policy: without(WRAPPED),
  fsdp_transformer_layer_cls_to_wrap: without(WRAPPED),
  fsdp_min_num_params: (value) => leftOut(`in the program: fsdp: { wrap: { minParams: ${String(value)} } }`),
  fsdp_state_dict_type: without(
    'saveState writes shards, which load on any number of ranks; saveModel writes whole weights',
  ),
  fsdp_use_orig_params: always('variables are always those of the program'),
  fsdp_cpu_ram_efficient_loading: without('in the program: initEmptyWeights(() => model)'),
  fsdp_sync_module_states: always("ranks always start from rank 0's weights"),
  fsdp_activation_checkpointing: (value) =>
    value === true
      ? changed('each layer of a prepared model is a section', accelerator('checkpointEvery', 1))
      : isDefault(),
  fsdp_activation_checkpointing_offload: withMissing('offload of activations'),
};

function sharding(value: unknown, at: ValueAt): Outcome {
  switch (strategyOf(value)) {
    case 'FULL_SHARD':
      return taken(accelerator('fsdp.stage', 'FULL_SHARD'));
    case 'SHARD_GRAD_OP':
      return changed('parameters stay whole between steps', accelerator('fsdp.stage', 'SHARD_GRAD_OP'));
    case 'NO_SHARD':
      return taken(accelerator('fsdp.stage', 'NO_SHARD'));
    case 'HYBRID_SHARD':
      return taken(accelerator('fsdp.stage', 'HYBRID_SHARD'));
    case 'HYBRID_SHARD_ZERO2':
      return taken(accelerator('fsdp.stage', 'HYBRID_SHARD'), accelerator('fsdp.reshardAfterForward', false));
    case undefined:
      if (!isStage3(at)) return leftOut('for stage 3 only');
      if (typeof value !== 'boolean') return leftOut(`expected one of ${STRATEGIES.join(', ')}, true, false`);
      return taken(accelerator('fsdp.reshardAfterForward', value));
  }
}

/** The strategy that a name or a number from 1 gives. */
function strategyOf(value: unknown): Strategy | undefined {
  if (/^[1-5]$/.test(String(value))) return STRATEGIES[Number(value) - 1];
  return STRATEGIES.find((name) => name === String(value).toUpperCase());
}

function isStage3(at: ValueAt): boolean {
  const strategy =
    strategyOf(at('fsdp_config.fsdp_sharding_strategy')) ??
    strategyOf(at('fsdp_config.fsdp_reshard_after_forward'));
  return strategy !== 'NO_SHARD' && strategy !== 'SHARD_GRAD_OP';
}

function backwardPrefetch(value: unknown, at: ValueAt): Outcome {
  if (!isStage3(at)) return leftOut('for stage 3 only');
  const name = String(value).toUpperCase();
  const ours = { BACKWARD_PRE: 'pre', BACKWARD_POST: 'post', NO_PREFETCH: 'none' }[name];
  if (ours === undefined) return leftOut('expected BACKWARD_PRE, BACKWARD_POST or NO_PREFETCH');
  return taken(accelerator('fsdp.backwardPrefetch', ours));
}

/** Keys of `deepspeed_config`, which `accelerate config` writes without a DeepSpeed file. */
export const ZERO_RULES: Rules = {
  zero_stage: zeroStage,
  gradient_accumulation_steps: (value) =>
    value === 'auto'
      ? leftOut('auto: the program gives it. In the file: gradientAccumulationSteps')
      : taken(accelerator('gradientAccumulationSteps', value)),
  gradient_clipping: (value) => taken(accelerator('gradientClipping.norm', value)),
  offload_optimizer_device: (_, at) => offload('optimizer', offloadOf(at)),
  offload_param_device: (_, at) => offload('params', offloadOf(at)),
  offload_optimizer_nvme_path: without('given as the folder of fsdp.offload in the program'),
  offload_param_nvme_path: without('given as the folder of fsdp.offload in the program'),
  zero3_init_flag: (value) =>
    value === true ? leftOut('in the program: initEmptyWeights(() => model)') : isDefault(),
  zero3_save_16bit_model: absent('saveModel writes float32 weights'),
  deepspeed_multinode_launcher: without(LAUNCHED),
  deepspeed_hostfile: without(LAUNCHED),
  deepspeed_exclusion_filter: without(LAUNCHED),
  deepspeed_inclusion_filter: without(LAUNCHED),
  deepspeed_moe_layer_cls_names: without(
    'in the program: the layer moe of @acc/transformer, with mesh: { expert: … }',
  ),
};

const offloadOf = (at: ValueAt) => ({
  stage: at('deepspeed_config.zero_stage'),
  optimizer: at('deepspeed_config.offload_optimizer_device'),
  params: at('deepspeed_config.offload_param_device'),
  folder:
    at('deepspeed_config.offload_param_nvme_path') ?? at('deepspeed_config.offload_optimizer_nvme_path'),
});
