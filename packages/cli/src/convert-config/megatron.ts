import { BY_RING, isSeveral, microBatches, ofAxis, onAxisBeside, type RestAxis } from './axes.js';
import {
  accelerator,
  changed,
  isDefault,
  leftOut,
  taken,
  without,
  type Outcome,
  type Rules,
  type ValueAt,
} from './outcome.js';

const PREFIX = 'megatron_lm_config.megatron_lm_';

const isPipeline = (at: ValueAt): boolean => isSeveral(at(`${PREFIX}pp_degree`));
const isSharded = (at: ValueAt): boolean => isOn(at(`${PREFIX}use_distributed_optimizer`));

/** Megatron-LM gives the ranks that the sizes leave to data parallelism. */
const restOf = (at: ValueAt): RestAxis => (isSharded(at) ? 'mesh.fsdp' : 'mesh.data');

const onAxis = onAxisBeside(restOf, BY_RING);

/** Keys of `megatron_lm_config`, as of Accelerate 1.15. */
export const MEGATRON_RULES: Rules = {
  megatron_lm_tp_degree: onAxis('tensor'),
  megatron_lm_pp_degree: onAxis('pipeline'),
  megatron_lm_context_parallel_size: onAxis('context'),
  megatron_lm_expert_model_parallel_size: onAxis('expert'),
  megatron_lm_expert_tensor_parallel_size: ofAxis(
    `${PREFIX}tp_degree`,
    'ranks of the axis tensor compute experts alike, and cut the other layers',
  ),
  megatron_lm_sequence_parallelism: (value) =>
    isOn(value) ? leftOut("in the program: parallelize(model, { …: 'sequence' })") : isDefault(),
  // The micro-batch of Megatron-LM is the batch of the loader.
  megatron_lm_num_micro_batches: (value, at) => microBatches(value, isPipeline(at)),
  megatron_lm_decoder_last_pipeline_num_layers: without('in the program: pipelined(model, loss, { stages })'),
  megatron_lm_gradient_clipping: (value) =>
    value === 0 ? isDefault() : taken(accelerator('gradientClipping.norm', value)),
  megatron_lm_use_distributed_optimizer: distributedOptimizer,
  megatron_lm_optimizer_cpu_offload: (value) =>
    isOn(value) ? leftOut("in the program: fsdp: { offload: { optimizer: true, to: 'cpu' } }") : isDefault(),
  megatron_lm_recompute_activations: (value) =>
    isOn(value) ? changed('whole layers, not parts of them', accelerator('checkpointEvery', 1)) : isDefault(),
  megatron_lm_recompute_granularity: (value, at) =>
    changed(
      value === 'full' ? 'layers are those of the model' : 'whole layers, not parts of them',
      accelerator('checkpointEvery', sectionOf(at)),
    ),
  megatron_lm_recompute_method: without('all sections have checkpointEvery layers'),
  megatron_lm_recompute_num_layers: (_, at) =>
    at(`${PREFIX}recompute_granularity`) === 'full'
      ? changed('layers are those of the model', accelerator('checkpointEvery', sectionOf(at)))
      : leftOut('for recompute_granularity: full only'),
  'megatron_lm_*': (value) =>
    value === false ? isDefault() : leftOut('of the model or of the implementation in Megatron-LM'),
};

/** Flags of `accelerate launch` are texts, and files have booleans. */
const isOn = (value: unknown): boolean => String(value).toLowerCase() === 'true';

/** In sections of other methods, a number of layers says how many sections there are. */
function sectionOf(at: ValueAt): unknown {
  const isUniform = (at(`${PREFIX}recompute_method`) ?? 'uniform') === 'uniform';
  const isFull = at(`${PREFIX}recompute_granularity`) === 'full';
  return isFull && isUniform ? (at(`${PREFIX}recompute_num_layers`) ?? 1) : 1;
}

function distributedOptimizer(value: unknown): Outcome {
  if (!isOn(value)) return taken(accelerator('strategy', 'ddp'));
  return taken(accelerator('strategy', 'fsdp'), accelerator('fsdp.stage', 1));
}
