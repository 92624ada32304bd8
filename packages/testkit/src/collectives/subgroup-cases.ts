import { isAccError, type CollectiveOf } from '@acc/contract';
import {
  numbersOf,
  require,
  requireSame,
  taken,
  withTensor,
  type CollectiveCase,
  type CollectiveSubject,
} from './subject.js';

/** The cases for sub-groups. `rules` are the cases for any group, which sub-groups must also pass. */
export function subgroupCases(rules: readonly CollectiveCase[]): readonly CollectiveCase[] {
  return [numbered, everyRule(rules), interleaved, refused, closing];
}

/**
 * Lists that contain each rank once. With four ranks they are pairs of neighbours in reverse order,
 * otherwise every other rank.
 */
function partOf(size: number): readonly (readonly number[])[] {
  if (size === 4) {
    return [
      [1, 0],
      [3, 2],
    ];
  }
  const all = Array.from({ length: size }, (_, rank) => rank);
  return [0, 1].map((parity) => all.filter((rank) => rank % 2 === parity)).filter((list) => list.length > 0);
}

/** The groups of these lists that contain this rank. Every rank must call it with the same lists. */
function groupsOf<T>(
  collective: CollectiveOf<T>,
  lists: readonly (readonly number[])[],
): { list: readonly number[]; group: CollectiveOf<T> }[] {
  return lists.flatMap((list) => {
    const group = collective.subgroup(list);
    require((group !== undefined) === list.includes(collective.rank), `[${list.join()}] has another member`);
    return group ? [{ list, group }] : [];
  });
}

function requireSum<T>(
  subject: CollectiveSubject<T>,
  list: readonly number[],
  sum: T,
  shape: readonly number[],
): void {
  const expected = numbersOf(list[0]!, shape, 'float32');
  for (const rank of list.slice(1)) {
    numbersOf(rank, shape, 'float32').values.forEach((value, i) => (expected.values[i]! += value));
  }
  requireSame(taken(subject, sum), expected, `the sum of ranks ${list.join()}`);
}

const numbered: CollectiveCase = {
  name: 'sub-groups number their ranks in the order of the list, and can have sub-groups',
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    const list = Array.from({ length: size }, (_, i) => size - 1 - i);
    const [reversed] = groupsOf(collective, [list]);
    const { group } = reversed!;
    require(group.rank === size - 1 - rank && group.size === size, `rank ${group.rank} of ${group.size}`);
    const ranks = list.map((one) => collective.worldRanks[one]);
    require(String(group.worldRanks) === String(ranks), `worldRanks are ${String(group.worldRanks)}`);
    withTensor(subject, numbersOf(rank, [3], 'float32'), (x) => {
      const first = numbersOf(size - 1, [3], 'float32');
      requireSame(taken(subject, group.broadcast(x, 0)), first, 'broadcast by rank 0 of the sub-group');
    });
    // Rank 0 of the group is the last rank of the whole group.
    const [alone] = groupsOf(group, [[0]]);
    require((alone !== undefined) === (rank === size - 1), 'a sub-group of a sub-group has another member');
    require(!alone ||
      String(alone.group.worldRanks) === String([collective.worldRanks[rank]]), 'of another rank');
    require(String(alone?.group.allGatherObject(rank) ?? rank) ===
      String(rank), 'a group of one gathers more');
    group.close();
  },
};

function everyRule(rules: readonly CollectiveCase[]): CollectiveCase {
  return {
    name: 'sub-groups pass all cases',
    minRanks: 2,
    maxRanks: 6,
    run(subject) {
      for (const { list, group } of groupsOf(subject.collective, partOf(subject.collective.size))) {
        for (const { name, minRanks = 1, maxRanks = Infinity, run } of rules) {
          if (group.size < minRanks || group.size > maxRanks) continue;
          try {
            run({ ...subject, collective: group });
          } catch (cause) {
            throw new Error(`ranks ${list.join()}: ${name}: ${(cause as Error).message}`, { cause });
          }
        }
        group.close();
      }
      subject.collective.barrier();
    },
  };
}

const interleaved: CollectiveCase = {
  name: 'calls of several groups can be pending at once, and waited for in any order',
  minRanks: 3,
  run(subject) {
    const { collective } = subject;
    const { rank, size } = collective;
    const pairs = Array.from({ length: size }, (_, one) => [one, (one + 1) % size]);
    const groups = groupsOf(collective, pairs);
    groups.push({ list: Array.from({ length: size }, (_, one) => one), group: collective });
    for (const count of [1, 3, 100_003, 5, 2]) {
      withTensor(subject, numbersOf(rank, [count], 'float32'), (x) => {
        const begun = groups.map(({ list, group }) => ({
          list,
          sums: [0, 1].map(() => group.allReduceAsync(x)),
        }));
        // Each rank waits for its groups in a different order, and in one of them for the later
        // call first.
        for (let i = 0; i < begun.length; i++) {
          const { list, sums } = begun[(i + rank + count) % begun.length]!;
          for (const sum of [...sums].reverse()) requireSum(subject, list, sum.wait(), [count]);
        }
      });
    }
    for (const { group } of groups) if (group !== collective) group.close();
  },
};

function errorOf(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (error) {
    return error;
  }
}

const refused: CollectiveCase = {
  name: 'different lists, and invalid lists, are an error on every rank',
  run({ collective }) {
    const { rank, size } = collective;
    for (const list of [[], [0, 0], [size], [-1], [0.5]]) {
      const error = errorOf(() => collective.subgroup(list));
      require(isAccError(error, 'ACC_COLLECTIVE_RANK'), `[${list.join()}] gave ${String(error)}`);
    }
    if (size === 1) return;
    const error = errorOf(() => collective.subgroup([rank]));
    require(isAccError(error, 'ACC_COLLECTIVE_MISMATCH'), `lists that differ gave ${String(error)}`);
    const { message } = error as Error;
    for (let one = 0; one < size; one++) {
      const line = message.split('\n').find((text) => text.startsWith(`  rank ${one}`));
      require(line?.endsWith(`: [${one}]`) === true, `no list of rank ${one} in: ${message}`);
    }
  },
};

const closing: CollectiveCase = {
  name: 'closing a sub-group does not close others',
  run({ collective }) {
    const { size } = collective;
    const list = Array.from({ length: size }, (_, one) => one);
    const [first, second] = groupsOf(collective, [list, list]).map(({ group }) => group);
    first!.barrier();
    first!.close();
    const error = errorOf(() => first!.barrier());
    require(isAccError(error, 'ACC_COLLECTIVE_CLOSED'), `a closed group gave ${String(error)}`);
    require(second!.allGatherObject(1).length === size, 'the other sub-group is closed, too');
    collective.barrier();
    second!.close();
    collective.barrier();
  },
};
