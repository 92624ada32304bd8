import { integer, type JobPlace, type Variables } from './variables.js';

/** Where a rank keeps its state for the next start of the job. */
export interface RescuePlace {
  /** A folder in the memory of the host, which only ranks of the job use. */
  readonly folder: string;
  /** The number of earlier starts. */
  readonly round: number;
  /** Whether this is the first rank of its host. */
  readonly isSpeaker: boolean;
  /** The number of ranks of the host. */
  readonly ranks: number;
}

export function rescuePlace(env: Variables, { localRank, localSize }: JobPlace): RescuePlace | undefined {
  const folder = env['ACC_RESCUE_DIR'];
  if (!folder) return undefined;
  const round = integer(env, 'ACC_RESTART_COUNT', { min: 0, fallback: 0 });
  return { folder, round, isSpeaker: localRank === 0, ranks: localSize };
}
