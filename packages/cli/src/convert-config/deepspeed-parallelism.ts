import { BY_HEADS, isSeveral, microBatches, onAxisBeside, type RestAxis } from './axes.js';
import { accelerator, changed, isDefault, leftOut, without, type Rules, type ValueAt } from './outcome.js';
import { zeroStage, zeroStrategy } from './zero.js';

const BY_PLAN = "in the program: parallelize(model, plan) says how layers are cut. 'auto' chooses";
const BY_STAGES = 'in the program: pipelined(model, loss, { stages })';
const OF_EXPERTS = 'in the program: the options of the layer moe of @acc/transformer';

/** DeepSpeed gives the ranks that the sizes leave to data parallelism. */
const restOf = (at: ValueAt): RestAxis =>
  zeroStrategy(at('zero_optimization.stage') ?? 0) === 'fsdp' ? 'mesh.fsdp' : 'mesh.data';

const onAxis = onAxisBeside(restOf, BY_HEADS);

/** Keys of DeepSpeed's JSON by which several ranks compute one model, as of DeepSpeed 0.19. */
export const DEEPSPEED_PARALLELISM: Rules = {
  gradient_accumulation_steps: (value, at) => microBatches(value, isSeveral(at('pipeline.stages'))),
  'zero_optimization.stage': (value) => zeroStage(value),
  sequence_parallel_size: onAxis('context'),
  data_parallel_size: () => isDefault('the ranks that the other axes leave'),
  seq_parallel_communication_data_type: without('shards of a sequence travel in the type of activations'),
  'tensor_parallel.autotp_size': onAxis('tensor'),
  'tensor_parallel.*': without(BY_PLAN),
  'expert_parallel.enabled': () => isDefault('a mesh with the axis expert divides experts'),
  'expert_parallel.autoep_size': (value, at) =>
    at('expert_parallel.enabled') === true
      ? onAxis('expert')(value, at)
      : leftOut('expert_parallel is not enabled'),
  'expert_parallel.*': without(OF_EXPERTS),
  use_data_before_expert_parallelism: without('ranks of the axis expert are neighbours'),
  'pipeline.stages': onAxis('pipeline'),
  'pipeline.activation_checkpoint_interval': (value) =>
    value === 0
      ? isDefault()
      : changed('layers are those of the model', accelerator('checkpointEvery', value)),
  'pipeline.*': without(BY_STAGES),
};
