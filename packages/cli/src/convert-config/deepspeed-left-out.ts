import { withMissing } from './missing.js';
import { absent, isDefault, leftOut, without, type Rules } from './outcome.js';

const OPTIMIZERS: Readonly<Record<string, string>> = {
  adam: 'tf.train.adam(rate), or adamw of @acc/core',
  adamw: 'adamw of @acc/core',
  lamb: 'lamb of @acc/core',
  lion: 'lion of @acc/core',
  sgd: 'tf.train.sgd(rate)',
  adagrad: 'tf.train.adagrad(rate)',
  onebitadam: 'oneBitAdam of @acc/core',
};
const SCHEDULES: Readonly<Record<string, string>> = {
  warmuplr: 'LRScheduler.constant with warmupSteps',
  warmupdecaylr: 'LRScheduler.linear with warmupSteps',
  warmupcosinelr: 'LRScheduler.cosine with warmupSteps',
  onecycle: 'LRScheduler.oneCycle',
};

const named = (known: Readonly<Record<string, string>>, otherwise: string) => (value: unknown) =>
  leftOut(`in the program: ${known[String(value).toLowerCase()] ?? otherwise}`);

const CHECKPOINTING =
  'checkpointEvery: K computes the activations of K layers again; checkpoint(fn, inputs) does in a loop';
const MONITORED = 'autoLog: true logs times, throughput and memory';
const WEIGHTS = 'weights, gradients and optimizer state are float32';

/** Keys of DeepSpeed's JSON that no option of a file stands for, with what is done instead. */
export const DEEPSPEED_LEFT_OUT: Rules = {
  'optimizer.type': named(OPTIMIZERS, 'create the optimizer'),
  'optimizer.*': without('an argument of the optimizer in the program'),
  'scheduler.type': named(SCHEDULES, 'LRScheduler'),
  'scheduler.*': without('an argument of LRScheduler in the program'),
  'fp16.*': absent(WEIGHTS),
  'bf16.*': absent(WEIGHTS),
  'torch_autocast.*': without('mixedPrecision gives the precision'),
  'zero_optimization.stage3_gather_16bit_weights_on_model_save': absent(
    'saveModel writes whole weights in float32',
  ),
  'zero_optimization.stage3_*': without(
    'one unit is gathered ahead; fsdp.limitAllGathers: false allows three',
  ),
  'zero_optimization.offload_*': without('buffers of offload are not configured here'),
  'zero_optimization.zero_quantized_*': absent(
    'fsdp.mixedPrecision gives the types that travel, of 16 bits or more',
  ),
  'zero_optimization.*': without('an internal setting of ZeRO in DeepSpeed'),
  zero_allow_untested_optimizer: without('fsdp refuses what it cannot shard by itself'),
  zero_force_ds_cpu_optimizer: without('optimizers of a CPU are fused already'),
  'activation_checkpointing.*': without(CHECKPOINTING),
  'flops_profiler.*': without('accelerator.profile measures FLOPs'),
  'comms_logger.*': without('accelerator.communication() counts calls and bytes'),
  wall_clock_breakdown: absent(MONITORED),
  memory_breakdown: absent(MONITORED),
  dump_state: absent(MONITORED),
  steps_per_print: without('log(values) writes when the program calls it'),
  prescale_gradients: absent('gradients are averaged over ranks after the sum'),
  gradient_predivide_factor: (value) =>
    value === 1 ? isDefault() : leftOut('gradients are averaged over ranks after the sum'),
  sparse_gradients: absent('gradients are dense'),
  fp32_allreduce: (value) => (value === true ? isDefault('gradients travel in float32') : isDefault()),
  'data_types.*': without(WEIGHTS),
  'aio.*': without('how offload reads and writes files is not configured here'),
  'elasticity.*': without('acc launch --nnodes A:B, with dataLoader.splitBatches'),
  'autotuning.*': without('acc estimate-memory shows what fits'),
  'curriculum_learning.*': without('curriculum samplers of @acc/data, in the program'),
  'data_efficiency.*': without('curriculum samplers of @acc/data, in the program'),
  'checkpoint.*': without('options below checkpoint say where and how states are saved'),
  'compression_training.*': without('in the program: prepareQat and quantize of @acc/quantization'),
  'compression_training.sparse_pruning.*': withMissing('pruning'),
  'compression_training.row_pruning.*': withMissing('pruning'),
  'compression_training.head_pruning.*': withMissing('pruning'),
  'compression_training.channel_pruning.*': withMissing('pruning'),
  'progressive_layer_drop.*': withMissing('layer drop'),
  'sparse_attention.*': without('a part of the model'),
  'eigenvalue.*': without('in the program: quantize of @acc/quantization chooses bits by signal to noise'),
  'hybrid_engine.*': without('in the program: generate(model, tokens) of @acc/transformer, between steps'),
  'amp.*': without('of NVIDIA Apex; mixedPrecision gives the precision'),
  'compile.*': without('accelerator.compile(step) records a step of the program'),
};
