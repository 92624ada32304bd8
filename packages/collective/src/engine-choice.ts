import { AccError, isAccError, type EngineChoice } from '@acc/contract';
import {
  gpuId,
  locateMpi,
  ncclUnavailableReason,
  shmUnavailableReason,
  type ProcessGroup,
} from '@acc/native';
import type { JobLayout } from './layout.js';
import type { JoinOptions } from './options.js';

export type Engine = Exclude<EngineChoice, 'auto'>;

/** A group, and why it runs on this engine. */
export interface ChosenEngine {
  readonly group: ProcessGroup;
  readonly engine: Engine;
  readonly reason: string;
}

/** What a rank tells the others before they choose. */
export interface EngineWish {
  readonly choice: EngineChoice;
  /** Why this rank cannot use what it asks for, or what `auto` would try. */
  readonly obstacle?: string;
  /** Whether its tensors live on a GPU, and which that is where NCCL could use it. */
  readonly isOnGpu?: boolean;
  readonly gpu?: string;
}

/** This rank's wish. */
export function engineWish(options: JoinOptions): EngineWish {
  const { engine: choice = 'auto', device = 'cpu' } = options;
  const obstacle = obstacleOf(device, choice);
  if (device === 'cpu') return { choice, ...(obstacle && { obstacle }) };
  const usesNccl = !obstacle && triesNccl(choice, true);
  return { choice, isOnGpu: true, ...(obstacle && { obstacle }), ...(usesNccl && { gpu: gpuId(device) }) };
}

/** What a group is to run on. */
interface EnginePlan {
  readonly engine: Engine;
  readonly reason: string;
  /** Whether another engine may take its place. */
  readonly isFree: boolean;
  /** Why ranks cannot use it. */
  readonly obstacles: readonly string[];
}

/**
 * Makes the group on the engine that every rank can use. Ranks compare what they ask for and what stands in the way, and
 * then open each other's memory: that alone tells whether they can.
 *
 * @param wishes Every rank's, by rank.
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

/** The same with groups that are there when `make` returns. */
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

/** Why Gloo takes the planned engine's place. @throws the error where it may not. */
function reasonForGloo({ isFree }: EnginePlan, error: unknown): string {
  if (!isFree || !isAccError(error, 'ACC_ENGINE_UNAVAILABLE')) throw error;
  return error.message;
}

/** What `auto` tries first. */
function preferred({ hosts, sharesHosts }: JobLayout, isOnGpu: boolean): { engine: Engine; reason: string } {
  if (isOnGpu) return { engine: 'nccl', reason: 'tensors live on GPUs' };
  if (hosts === 1) return { engine: 'shm', reason: 'all ranks reach one memory' };
  if (!sharesHosts) return { engine: 'gloo', reason: 'every rank has a host of its own' };
  return { engine: 'hierarchical', reason: `ranks of ${hosts} hosts, some of which share memory` };
}

function requireSameChoice(wishes: readonly EngineWish[]): void {
  if (wishes.every(({ choice }) => choice === wishes[0]!.choice)) return;
  const lines = wishes.map(({ choice }, rank) => `  rank ${rank}: ${choice}`);
  throw new AccError(
    'ACC_ENGINE_MISMATCH',
    `Ranks ask for different engines of collectives:\n${lines.join('\n')}`,
    {
      help: 'Set the option, or ACC_COLLECTIVE_ENGINE, alike on every rank.',
      details: { wishes },
    },
  );
}

function obstacleOf(device: string, choice: EngineChoice): string | undefined {
  if (choice === 'gloo') return undefined;
  const isOnGpu = device !== 'cpu';
  if (triesNccl(choice, isOnGpu)) return isOnGpu ? ncclUnavailableReason() : 'tensors live on the CPU';
  if (isOnGpu) return `tensors live on ${device}`;
  if (choice === 'mpi')
    return locateMpi() ? undefined : 'the engine is not built here; run: npx acc setup --mpi';
  return shmUnavailableReason();
}

function triesNccl(choice: EngineChoice, isOnGpu: boolean): boolean {
  return choice === 'nccl' || (choice === 'auto' && isOnGpu);
}

/** NCCL wants a GPU for each rank, and on every rank; a rank that has said so by itself is not told twice. */
function gpuObstacles(wishes: readonly EngineWish[]): string[] {
  return wishes.flatMap(({ gpu, isOnGpu, obstacle }, rank) => {
    if (!isOnGpu) return obstacle ? [] : [`rank ${rank}: tensors live on the CPU`];
    const first = wishes.findIndex((wish) => wish.gpu === gpu);
    return gpu !== undefined && first < rank ? [`ranks ${first} and ${rank} have one GPU`] : [];
  });
}
