import { AccError, isAccError, type Collective } from '@acc/contract';

/** The error of one rank, in a form that can be sent to the others. */
interface Problem {
  readonly code: string;
  readonly message: string;
}

/**
 * Runs `work` on every rank. If it fails on one rank, it throws on all of them, so that no rank
 * keeps waiting. A rank on which `work` succeeded throws the error of the first rank that failed.
 *
 * @param giveUp Called on a rank where `work` succeeded while it failed on another. Receives the
 * result of `work`.
 * @param name The label of the collective, for messages: the method of which it is a part.
 */
export async function together<T>(
  collective: Collective,
  work: () => Promise<T>,
  giveUp: (result: T) => void = () => {},
  name = '',
): Promise<T> {
  let result: { readonly value: T } | undefined;
  let local: unknown;
  try {
    result = { value: await work() };
  } catch (error) {
    local = error;
  }
  const problems = collective.named(name, () => collective.allGatherObject(result ? null : problemOf(local)));
  const rank = problems.findIndex((problem) => problem !== null);
  if (rank < 0) return result!.value;
  if (!result) throw local;
  giveUp(result.value);
  const { code, message } = problems[rank]!;
  throw new AccError(code, `On rank ${rank}: ${message}`, { details: { rank } });
}

/**
 * Runs `work` on rank 0. Every rank gets its result or its error.
 *
 * @param name The label of the collective, as of {@link together}.
 */
export async function onFirstRank<T>(
  collective: Collective,
  name: string,
  work: () => Promise<T>,
): Promise<T> {
  let answer: { value?: T; problem?: Problem } = {};
  let local: unknown;
  if (collective.rank === 0) {
    try {
      answer = { value: await work() };
    } catch (error) {
      local = error;
      answer = { problem: problemOf(error) };
    }
  }
  const { value, problem } = collective.named(name, () => collective.broadcastObject(answer));
  if (!problem) return value as T;
  if (local !== undefined) throw local as Error;
  throw new AccError(problem.code, `On rank 0: ${problem.message}`, { details: { rank: 0 } });
}

function problemOf(error: unknown): Problem {
  const message = error instanceof Error ? error.message : String(error);
  return { code: isAccError(error) ? error.code : 'ACC_RANK_FAILED', message };
}
