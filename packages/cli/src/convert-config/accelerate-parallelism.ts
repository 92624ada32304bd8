import { BY_HEADS, BY_RING, isSeveral, ofAxis, ranksOn } from './axes.js';
import {
  accelerator,
  always,
  isDefault,
  leftOut,
  taken,
  type Outcome,
  type Rules,
  type Setting,
  type ValueAt,
} from './outcome.js';
import { zeroStrategy } from './zero.js';

const PREFIX = 'parallelism_config.parallelism_config_';
const SIZES = ['dp_replicate_size', 'dp_shard_size', 'tp_size', 'cp_size', 'sp_size'] as const;
const LEFT = 'the ranks that the axis context leaves';

const sizeOf = (name: (typeof SIZES)[number], at: ValueAt): unknown => at(PREFIX + name);
const hasAxes = (at: ValueAt): boolean => SIZES.some((name) => isSeveral(sizeOf(name, at)));
const isFsdp = (at: ValueAt): boolean => at('distributed_type') === 'FSDP';
/** DeepSpeed forms its groups by itself: the file gives the size of one axis only. */
const isOfDeepspeed = (at: ValueAt): boolean => at('distributed_type') === 'DEEPSPEED';

/** Keys of `parallelism_config`, as of Accelerate 1.15. The sizes are those of all axes. */
export const PARALLELISM_RULES: Rules = {
  parallelism_config_dp_replicate_size: (value, at) => {
    if (!hasAxes(at)) return isDefault('all ranks');
    if (isOfDeepspeed(at)) return rankedBy(value);
    return taken(accelerator('mesh.data', value));
  },
  parallelism_config_dp_shard_size: (value, at) => {
    if (!hasAxes(at)) return isDefault('all ranks');
    if (isOfDeepspeed(at)) return rankedBy(value);
    if (isFsdp(at)) return taken(accelerator('mesh.fsdp', value));
    return value === 1 ? isDefault('one rank') : leftOut('for distributed_type: FSDP only');
  },
  parallelism_config_tp_size: (value, at) => ranksOn('tensor', value, { more: unsharded(at) }),
  parallelism_config_cp_size: (value, at) =>
    ranksOn('context', value, {
      more: [BY_RING, ...unsharded(at)],
      note: isFsdp(at) ? 'parameters are divided over mesh.fsdp alone' : undefined,
    }),
  parallelism_config_cp_backend: ofAxis(`${PREFIX}cp_size`, 'context.attention says how ranks exchange'),
  parallelism_config_cp_comm_strategy: ofAxis(
    `${PREFIX}cp_size`,
    'keys and values travel from rank to rank, whatever the rotation',
  ),
  parallelism_config_sp_size: sequenceParallel,
  parallelism_config_sp_backend: ofAxis(`${PREFIX}sp_size`, 'context.attention says how ranks exchange'),
  parallelism_config_sp_seq_length: ofAxis(`${PREFIX}sp_size`, 'the length is that of each batch'),
  parallelism_config_sp_seq_length_is_variable: always('batches may have other lengths'),
  parallelism_config_sp_attn_implementation: ofAxis(`${PREFIX}sp_size`, 'the engine chooses the kernel'),
};

const rankedBy = (value: unknown): Outcome =>
  value === 1 ? isDefault(LEFT) : leftOut(`${LEFT}, under DeepSpeed`);

/** A file without dp_shard_size has one rank there, and the strategy fsdp needs its axis. */
const unsharded = (at: ValueAt): readonly Setting[] =>
  isFsdp(at) && sizeOf('dp_shard_size', at) === undefined ? [accelerator('mesh.fsdp', 1)] : [];

function sequenceParallel(value: unknown, at: ValueAt): Outcome {
  if (!isOfDeepspeed(at)) return ranksOn('context', value, { more: [BY_HEADS, ...unsharded(at)] });
  const stage = at('deepspeed_config.zero_stage');
  if (stage === undefined && isSeveral(value))
    return leftOut(`give sequence_parallel_size: ${String(value)} in the file of DeepSpeed`);
  return ranksOn('context', value, {
    rest: zeroStrategy(stage) === 'fsdp' ? 'mesh.fsdp' : 'mesh.data',
    more: [BY_HEADS],
  });
}
