import { PARALLELISM_RULES } from './accelerate-parallelism.js';
import { FLOAT8_RULES } from './accelerate-float8.js';
import { FSDP_RULES, ZERO_RULES } from './accelerate-sharding.js';
import { MEGATRON_RULES } from './megatron.js';
import {
  accelerator,
  below,
  changed,
  isDefault,
  launch,
  leftOut,
  same,
  taken,
  without,
  type Outcome,
  type Rules,
  type ValueAt,
} from './outcome.js';
import { zeroStrategy } from './zero.js';

const ON_TPU = 'for TPUs; devices are CPUs and GPUs of CUDA here';
const COMPILED = 'no compiler is chosen here. accelerator.compile(step) records a step of the program';
const MPIRUN = 'start the program itself with mpirun; its variables are read';

/** The default port of Accelerate and torchrun. */
const DEFAULT_PORT = 29500;

const hostsOf = (at: ValueAt): number => Number(at('num_machines') ?? 1);

/** Keys of the YAML files of `accelerate config`, as of Accelerate 1.15. */
export const ACCELERATE_RULES: Rules = {
  compute_environment: () => isDefault('acc launch starts ranks on the hosts where it runs'),
  distributed_type: distributedType,
  use_cpu: (value) => (value === true ? taken(accelerator('device', 'cpu')) : isDefault('device: auto')),
  num_processes: processes,
  num_machines: same((value) => launch('nnodes', value)),
  machine_rank: (value, at) =>
    hostsOf(at) > 1
      ? leftOut(`hosts share the file. Give --node-rank ${String(value)} to acc launch on this host`)
      : isDefault('one host'),
  main_process_ip: (_, at) => taken(launch('rdzvEndpoint', endpointOf(at))),
  main_process_port: port,
  rdzv_backend: rendezvous,
  same_network: without('hosts need no common network beside the address of rank 0'),
  main_training_function: without('for notebooks. launch(fn) of @acc/cli takes the function itself'),
  gpu_ids: (value) =>
    value === 'all'
      ? isDefault()
      : leftOut(`set the variable CUDA_VISIBLE_DEVICES=${String(value)} for acc launch`),
  enable_cpu_affinity: (value) =>
    value === true
      ? changed('binds ranks to NUMA nodes, not to that of their GPU', launch('cpuBind', 'numa'))
      : isDefault(),
  debug: without('ranks always compare the shapes of collectives'),
  mixed_precision: mixedPrecision,
  fp16: (value) => (value === true ? taken(accelerator('mixedPrecision', 'fp16')) : isDefault()),
  gradient_accumulation_steps: same((value) => accelerator('gradientAccumulationSteps', value)),
  downcast_bf16: (value) => (value === true || value === 'yes' ? leftOut(ON_TPU) : isDefault()),
  'tpu_*': (value) => (value === false ? isDefault() : leftOut(ON_TPU)),
  command_file: without(ON_TPU),
  commands: without(ON_TPU),
  dynamo_backend: (value) => (String(value).toUpperCase() === 'NO' ? isDefault() : leftOut(COMPILED)),
  'dynamo_config.*': without(COMPILED),
  'mpirun_config.*': without(MPIRUN),
  ...below('fp8_config.', FLOAT8_RULES),
  ...below('fsdp_config.', FSDP_RULES),
  ...below('deepspeed_config.', ZERO_RULES),
  ...below('megatron_lm_config.', MEGATRON_RULES),
  ...below('parallelism_config.', PARALLELISM_RULES),
};

function distributedType(value: unknown, at: ValueAt): Outcome {
  switch (value) {
    case 'NO':
      return isDefault('one process');
    case 'MULTI_CPU':
      return taken(accelerator('strategy', 'ddp'), accelerator('device', 'cpu'));
    case 'MULTI_GPU':
      return changed('on GPUs if libtorch has them, else on CPUs', accelerator('strategy', 'ddp'));
    case 'FSDP':
      return taken(accelerator('strategy', 'fsdp'));
    case 'DEEPSPEED':
      return at('deepspeed_config.zero_stage') === undefined
        ? isDefault('the file of DeepSpeed says which strategy')
        : changed(
            'ZeRO is the strategy fsdp',
            accelerator('strategy', zeroStrategy(at('deepspeed_config.zero_stage'))),
          );
    case 'MEGATRON_LM':
      return isDefault('megatron_lm_config says which strategy and which mesh');
    default:
      return changed('devices are CPUs and GPUs of CUDA here', accelerator('strategy', 'ddp'));
  }
}

function processes(value: unknown, at: ValueAt): Outcome {
  const hosts = hostsOf(at);
  if (value === -1) return leftOut('-1 says that the start gives it: acc launch -n N');
  if (hosts <= 1) return taken(launch('nproc', value));
  const perHost = Number(value) / hosts;
  if (Number.isInteger(perHost)) return changed('the number on each host', launch('nproc', perHost));
  return leftOut(`not a multiple of ${hosts} hosts. Every host has equally many ranks here`);
}

function endpointOf(at: ValueAt): string {
  const host = String(at('main_process_ip'));
  return `${host.includes(':') ? `[${host}]` : host}:${String(at('main_process_port') ?? DEFAULT_PORT)}`;
}

function port(value: unknown, at: ValueAt): Outcome {
  if (at('main_process_ip') != null) return taken(launch('rdzvEndpoint', endpointOf(at)));
  if (hostsOf(at) > 1)
    return leftOut('without main_process_ip. Give --rdzv-endpoint HOST:PORT to acc launch');
  if (value === 0) return isDefault('a free port is the default');
  return taken(launch('rdzvEndpoint', `127.0.0.1:${String(value)}`));
}

function rendezvous(value: unknown, at: ValueAt): Outcome {
  if (hostsOf(at) <= 1) return isDefault('one host');
  if (value === 'static') return taken(launch('rdzvBackend', 'c10d'));
  if (value === 'c10d') {
    return changed(
      'rank 0 listens at the endpoint, and hosts have node ranks',
      launch('rdzvBackend', 'c10d'),
    );
  }
  if (String(value).startsWith('etcd')) return changed('needs --rdzv-id NAME', launch('rdzvBackend', 'etcd'));
  return leftOut("hosts meet by 'c10d' or 'etcd' here");
}

/** FSDP of PyTorch also sums gradients in 16 bits. */
function mixedPrecision(value: unknown, at: ValueAt): Outcome {
  // YAML 1.1 reads a plain no as false.
  const precision = value === false ? 'no' : value;
  const setting = accelerator('mixedPrecision', precision);
  const isSharded = at('distributed_type') === 'FSDP' && precision !== 'no';
  return isSharded
    ? changed('gradients travel in float32, unless fsdp.mixedPrecision.reduce says otherwise', setting)
    : taken(setting);
}
