import { constants } from 'node:os';
import type { ErrorReport } from '@acc/platform/uncaught';
import { describe, expect, it } from 'vitest';
import type { RankExit } from './rank-process.js';
import { findRootCause, rootCause, type FailedRank, type ObservedRank } from './root-cause.js';

interface Ranks {
  readonly ranks: readonly ObservedRank[];
  end(rank: number, exitCode: number, stderr?: string): void;
}

function createRanks(count: number, error?: ErrorReport): Ranks {
  const tails = Array.from({ length: count }, (): string[] => []);
  const resolves: ((exit: RankExit) => void)[] = [];
  const ranks = tails.map((stderrTail, rank): ObservedRank => ({
    exited: new Promise((resolve) => (resolves[rank] = resolve)),
    stderrTail,
    error,
    finishStderr: () => Promise.resolve(),
  }));
  const end = (rank: number, exitCode: number, stderr = ''): void => {
    tails[rank]!.push(stderr);
    const signal = exitCode > 128 ? 'SIGKILL' : null;
    resolves[rank]!({ rank, pid: 1000 + rank, exitCode, signal });
  };
  return { ranks, end };
}

const KILLED = 128 + constants.signals.SIGKILL;
const LOST = "  code: 'ACC_PEER_LOST'";

describe('findRootCause', () => {
  it('finds none if all ranks succeed', async () => {
    const { ranks, end } = createRanks(2);
    end(1, 0);
    end(0, 0);
    expect(await findRootCause(ranks)).toBeUndefined();
  });

  it('names ranks that exited with code 0 if the others only lost them', async () => {
    const { ranks, end } = createRanks(2);
    const cause = findRootCause(ranks);
    end(1, 0);
    end(0, 1, LOST);
    expect(await cause).toMatchObject({ exit: { rank: 0 }, leavers: [{ rank: 1, exitCode: 0 }] });
    const failing = createRanks(2);
    const error = findRootCause(failing.ranks);
    failing.end(1, 0);
    failing.end(0, 1, 'Error: its own');
    expect(await error).toMatchObject({ exit: { rank: 0 }, leavers: [] });
  });

  it('blames a rank that threw an error and exited with code 0, if the others only lost it', async () => {
    const error = { code: undefined, text: 'Error: x', whole: 'Error: x' };
    const forgiving: FailedRank = {
      exit: { rank: 1, pid: 1001, exitCode: 0, signal: null },
      rank: { stderrTail: [], error },
    };
    const lost: FailedRank = {
      exit: { rank: 0, pid: 1000, exitCode: 1, signal: null },
      rank: { stderrTail: [LOST] },
    };
    expect(rootCause([lost], [forgiving])).toEqual({ ...forgiving, others: [lost], leavers: [] });
    expect(rootCause([], [forgiving])).toBeUndefined();
    const own = { ...lost, rank: { stderrTail: ['Error: its own'] } };
    expect(rootCause([own], [forgiving])).toEqual({ ...own, others: [forgiving], leavers: [] });
    // Its process may end after the consequence.
    const { ranks, end } = createRanks(2, error);
    const cause = findRootCause([{ ...ranks[0]!, error: undefined }, ranks[1]!]);
    end(0, 1, LOST);
    end(1, 0);
    expect(await cause).toMatchObject({ exit: { rank: 1, exitCode: 0 }, others: [{ exit: { rank: 0 } }] });
  });

  it('returns the first failure without waiting for the others', async () => {
    const { ranks, end } = createRanks(3);
    const cause = findRootCause(ranks);
    end(2, 1);
    end(1, 3);
    expect((await cause)?.exit).toMatchObject({ rank: 2, exitCode: 1 });
  });

  it('waits a moment for the same error of other ranks', async () => {
    const { ranks, end } = createRanks(3, { code: undefined, text: 'Error: x', whole: 'Error: x' });
    const cause = findRootCause(ranks);
    end(2, 1);
    setTimeout(() => end(0, 1), 50);
    const { exit, others } = (await cause)!;
    expect([exit, ...others.map((other) => other.exit)].map(({ rank }) => rank)).toEqual([2, 0]);
  });

  it('does not blame a rank that lost its peer', async () => {
    for (const code of [7, KILLED]) {
      const { ranks, end } = createRanks(3);
      const cause = findRootCause(ranks);
      end(0, 1, LOST);
      setTimeout(() => end(1, code), 50);
      expect((await cause)?.exit).toMatchObject({ rank: 1, exitCode: code });
    }
  });

  it('blames that rank if there is no other failure', async () => {
    const { ranks, end } = createRanks(2);
    const cause = findRootCause(ranks);
    end(1, 1, LOST);
    expect((await cause)?.exit).toMatchObject({ rank: 1, exitCode: 1 });
  });

  it('does not wait if all ranks have ended', async () => {
    const { ranks, end } = createRanks(2);
    end(0, 1, LOST);
    end(1, 1, LOST);
    expect((await findRootCause(ranks))?.exit).toMatchObject({ rank: 0 });
  });
});
