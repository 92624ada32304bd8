import type { JoinOptions } from '@acc/collective';

/** What `runRanks`, `startRanks` and `acc launch` tell a rank, as joinGroup takes it. */
export function startedRank(): JoinOptions {
  const { RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT, ACC_JOB_TOKEN } = process.env;
  return {
    rank: Number(RANK),
    size: Number(WORLD_SIZE),
    masterAddress: MASTER_ADDR!,
    masterPort: Number(MASTER_PORT),
    jobToken: ACC_JOB_TOKEN!,
    isOneHost: LOCAL_WORLD_SIZE === WORLD_SIZE,
  };
}
