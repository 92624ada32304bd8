import { AccError, isAccError } from '@acc/contract';
import { shmUnavailableReason, type ProcessGroup, type Store } from '@acc/native';
import { DEFAULT_TIMEOUT_MS, type EngineChoice, type JoinOptions } from './options.js';

export type Engine = Exclude<EngineChoice, 'auto'>;

/** A group, and why it runs on this engine. */
export interface ChosenEngine {
  readonly group: ProcessGroup;
  readonly engine: Engine;
  readonly reason: string;
}

/** What a rank tells the others before they choose. */
interface Wish {
  readonly choice: EngineChoice;
  /** Why this rank cannot use shared memory. */
  readonly obstacle?: string;
}

/**
 * Makes the group on the engine that every rank can use. Ranks compare what they ask for and what stands in the way, and
 * then open each other's memory: that alone tells whether they can.
 *
 * @throws AccError `ACC_ENGINE_MISMATCH`, `ACC_ENGINE_UNAVAILABLE`, `ACC_RENDEZVOUS_FAILED`.
 */
export async function agreeOnEngine(
  store: Store,
  options: JoinOptions,
  make: Readonly<Record<Engine, () => Promise<ProcessGroup>>>,
): Promise<ChosenEngine> {
  const wishes = await exchange(store, options);
  const { choice } = wishes[0]!;
  if (choice === 'gloo') return { group: await make.gloo(), engine: 'gloo', reason: 'asked for' };
  const obstacles = wishes.flatMap(({ obstacle }, rank) => (obstacle ? [`rank ${rank}: ${obstacle}`] : []));
  try {
    if (obstacles.length > 0) {
      throw new AccError('ACC_ENGINE_UNAVAILABLE', `Ranks cannot share memory: ${obstacles.join('; ')}.`, {
        help: "Choose the engine 'gloo' or 'auto'.",
      });
    }
    const reason = choice === 'shm' ? 'asked for' : 'all ranks reach one memory';
    return { group: await make.shm(), engine: 'shm', reason };
  } catch (error) {
    if (choice === 'shm' || !isAccError(error, 'ACC_ENGINE_UNAVAILABLE')) throw error;
    return { group: await make.gloo(), engine: 'gloo', reason: error.message };
  }
}

/** Every rank's wish, by rank. */
async function exchange(store: Store, options: JoinOptions): Promise<Wish[]> {
  const { rank, size, jobToken, engine: choice = 'auto', timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const key = (of: number) => `acc/${jobToken}/engine/${of}`;
  const obstacle = choice === 'gloo' ? undefined : obstacleOf(options, choice);
  const own: Wish = { choice, ...(obstacle && { obstacle }) };
  store.set(key(rank), new TextEncoder().encode(JSON.stringify(own)));
  const wishes: Wish[] = [];
  for (let of = 0; of < size; of++) {
    const bytes = await store.get(key(of), timeoutMs);
    wishes.push(JSON.parse(new TextDecoder().decode(bytes)) as Wish);
  }
  if (wishes.some((wish) => wish.choice !== choice)) {
    const lines = wishes.map((wish, of) => `  rank ${of}: ${wish.choice}`);
    throw new AccError(
      'ACC_ENGINE_MISMATCH',
      `Ranks ask for different engines of collectives:\n${lines.join('\n')}`,
      {
        help: 'Set the option, or ACC_COLLECTIVE_ENGINE, alike on every rank.',
        details: { wishes },
      },
    );
  }
  return wishes;
}

function obstacleOf({ isOneHost, device = 'cpu' }: JoinOptions, choice: EngineChoice): string | undefined {
  if (device !== 'cpu') return `tensors live on ${device}`;
  if (choice === 'auto' && !isOneHost) return 'the launcher started ranks on several hosts';
  return shmUnavailableReason();
}
