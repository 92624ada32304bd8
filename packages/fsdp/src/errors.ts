import { AccError, engineAdvice } from '@acc/contract';

/** The error for `HYBRID_SHARD` in a job whose mesh does not say over which ranks to shard. */
export function withoutMesh(): AccError {
  return new AccError(
    'ACC_INVALID_OPTION',
    "fsdp.stage 'HYBRID_SHARD' shards over the ranks of the axis fsdp, which the mesh does not have.",
    { help: "Give strategy: 'fsdp', which takes the ranks of each host, or mesh: { data: -1, fsdp: … }." },
  );
}

/** The error for 16-bit types on a backend that has none. */
export function cannotRound(backendName: string): AccError {
  return new AccError(
    'ACC_PRECISION_UNSUPPORTED',
    `fsdp.mixedPrecision: the tfjs backend '${backendName}' computes in float32 only.`,
    { help: engineAdvice('leave mixedPrecision out') },
  );
}
