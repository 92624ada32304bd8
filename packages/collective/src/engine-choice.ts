import { AccError, isAccError, type EngineChoice } from '@acc/contract';
import {
  gpuFacts,
  mpiUnavailableReason,
  ncclUnavailableReason,
  shmUnavailableReason,
  type ProcessGroup,
} from '@acc/native';
import type { JobLayout } from './layout.js';
import type { JoinOptions } from './options.js';

export type Engine = Exclude<EngineChoice, 'auto'>;

/** A group, its engine, and the reason for that engine. */
export interface ChosenEngine {
  readonly group: ProcessGroup;
  readonly engine: Engine;
  readonly reason: string;
}

/** The engine preference that a rank announces to the others. */
export interface EngineWish {
  readonly choice: EngineChoice;
  /** The reason why this rank cannot use the engine it asks for, or the one that `auto` would try. */
  readonly obstacle?: string;
  /** Whether the tensors of this rank live on a GPU. `gpu` identifies that GPU if NCCL can use it. */
  readonly isOnGpu?: boolean;
  readonly gpu?: string;
}

/** The engine preference of this rank. */
export function engineWish(options: JoinOptions): EngineWish {
  const { engine: choice = 'auto', device = 'cpu' } = options;
  const obstacle = obstacleOf(device, choice);
  if (device === 'cpu') return { choice, ...(obstacle && { obstacle }) };
  const gpu = gpuFacts(device)?.uuid;
  return { choice, isOnGpu: true, ...(obstacle && { obstacle }), ...(gpu !== undefined && { gpu }) };
}

/** The engine that a group should run on. */
interface EnginePlan {
  readonly engine: Engine;
  readonly reason: string;
  /** Whether another engine may be used instead. */
  readonly isFree: boolean;
  /** The reasons why ranks cannot use this engine. */
  readonly obstacles: readonly string[];
}

/**
 * Creates the group on an engine that every rank can use. Ranks compare the engine they ask for and
 * their obstacles. For shared memory they then open each other's memory, because only that shows
 * whether it works.
 *
 * @param wishes The wish of every rank, by rank.
 * @throws AccError `ACC_ENGINE_MISMATCH`, `ACC_ENGINE_UNAVAILABLE`, `ACC_RENDEZVOUS_FAILED`.
 */
export async function agreeOnEngine(
  wishes: readonly EngineWish[],
  layout: JobLayout,
  make: (engine: Engine) => Promise<ProcessGroup>,
): Promise<ChosenEngine> {
  const plan = planEngine(wishes, layout);
  const { engine, reason } = plan;
  try {
    requireNoObstacle(plan);
    return { group: await make(engine), engine, reason };
  } catch (error) {
    const instead = reasonForGloo(plan, error);
    return { group: await make('gloo'), engine: 'gloo', reason: instead };
  }
}

/** The synchronous form of {@link agreeOnEngine}. */
export function agreeOnEngineNow(
  wishes: readonly EngineWish[],
  layout: JobLayout,
  make: (engine: Engine) => ProcessGroup,
): ChosenEngine {
  const plan = planEngine(wishes, layout);
  const { engine, reason } = plan;
  try {
    requireNoObstacle(plan);
    return { group: make(engine), engine, reason };
  } catch (error) {
    const instead = reasonForGloo(plan, error);
    return { group: make('gloo'), engine: 'gloo', reason: instead };
  }
}

/**
 * The warning for ranks whose tensors are on GPUs and travel through memory of the host, because `auto`
 * found no engine for GPUs. Undefined for others.
 */
export function slowWay(
  wishes: readonly EngineWish[],
  { engine, reason }: Pick<ChosenEngine, 'engine' | 'reason'>,
): string | undefined {
  const isFree = wishes.every(({ choice }) => choice === 'auto');
  if (!isFree || engine === 'nccl' || !wishes.some(({ isOnGpu }) => isOnGpu)) return undefined;
  return `acc: tensors on GPUs travel over ${engine}, through memory of the host, which is slow. ${reason} To accept that without this message, set ACC_COLLECTIVE_ENGINE=gloo.`;
}

function planEngine(wishes: readonly EngineWish[], layout: JobLayout): EnginePlan {
  requireSameChoice(wishes);
  const { choice } = wishes[0]!;
  const isFree = choice === 'auto';
  const isOnGpu = wishes.some((wish) => wish.isOnGpu);
  const { engine, reason } = isFree ? preferred(layout, isOnGpu) : { engine: choice, reason: 'asked for' };
  if (engine === 'gloo') return { engine, reason, isFree, obstacles: [] };
  const obstacles = [
    ...wishes.flatMap(({ obstacle }, rank) => (obstacle ? [`rank ${rank}: ${obstacle}`] : [])),
    ...(engine === 'nccl' ? gpuObstacles(wishes) : []),
  ];
  return { engine, reason, isFree, obstacles };
}

function requireNoObstacle({ engine, obstacles }: EnginePlan): void {
  if (obstacles.length === 0) return;
  throw new AccError('ACC_ENGINE_UNAVAILABLE', `Ranks cannot use '${engine}': ${obstacles.join('; ')}.`, {
    help: "Choose the engine 'gloo' or 'auto'.",
  });
}

/**
 * The reason why Gloo replaces the planned engine. @throws The error itself if it may not be
 * replaced.
 */
function reasonForGloo({ isFree }: EnginePlan, error: unknown): string {
  if (!isFree || !isAccError(error, 'ACC_ENGINE_UNAVAILABLE')) throw error;
  return error.message;
}

/** The engine that `auto` tries first, and why. */
function preferred({ hosts, sharesHosts }: JobLayout, isOnGpu: boolean): { engine: Engine; reason: string } {
  if (isOnGpu) return { engine: 'nccl', reason: 'tensors live on GPUs' };
  if (hosts === 1) return { engine: 'shm', reason: 'all ranks run on one host' };
  if (!sharesHosts) return { engine: 'gloo', reason: 'every rank runs on its own host' };
  return { engine: 'hierarchical', reason: `ranks of ${hosts} hosts, some of which share memory` };
}

function requireSameChoice(wishes: readonly EngineWish[]): void {
  if (wishes.every(({ choice }) => choice === wishes[0]!.choice)) return;
  const lines = wishes.map(({ choice }, rank) => `  rank ${rank}: ${choice}`);
  throw new AccError(
    'ACC_ENGINE_MISMATCH',
    `Ranks ask for different collective engines:\n${lines.join('\n')}`,
    {
      help: 'Set the option, or ACC_COLLECTIVE_ENGINE, to the same engine on every rank.',
      details: { wishes },
    },
  );
}

function obstacleOf(device: string, choice: EngineChoice): string | undefined {
  if (choice === 'gloo') return undefined;
  const isOnGpu = device !== 'cpu';
  if (triesNccl(choice, isOnGpu)) return isOnGpu ? ncclUnavailableReason() : 'its tensors live on the CPU';
  if (isOnGpu) return `its tensors live on ${device}`;
  if (choice === 'mpi') return mpiUnavailableReason();
  return shmUnavailableReason();
}

function triesNccl(choice: EngineChoice, isOnGpu: boolean): boolean {
  return choice === 'nccl' || (choice === 'auto' && isOnGpu);
}

/**
 * NCCL needs a separate GPU for each rank. A rank that already stated an obstacle is not listed
 * twice.
 */
function gpuObstacles(wishes: readonly EngineWish[]): string[] {
  return wishes.flatMap(({ gpu, isOnGpu, obstacle }, rank) => {
    if (!isOnGpu) return obstacle ? [] : [`rank ${rank}: its tensors live on the CPU`];
    const first = wishes.findIndex((wish) => wish.gpu === gpu);
    return !obstacle && gpu !== undefined && first < rank
      ? [`ranks ${first} and ${rank} use the same GPU`]
      : [];
  });
}
