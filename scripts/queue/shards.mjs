// Divides test files into shards, each for one process of vitest.

/** Of a shard of tests that compute. The start of each costs some seconds. */
const SHARD_SECONDS = 100;
/**
 * A shard of tests that wait takes longer: such a shard costs little beside others, and the start of
 * each costs as much as in other shards.
 */
const WAITING_SHARD_SECONDS = 150;
/** A file that keeps less than this part of a core busy waits most of the time. */
const WAITS_BELOW = 0.5;

/**
 * @param {readonly string[]} files In the order of the shards.
 * @param {(file: string) => {processorSeconds: number, seconds: number}} costOf
 * @param {number} [longest] How long a shard of tests that compute may be.
 * @returns {{files: string[], processorSeconds: number, seconds: number}[]} Shards of about the same
 * length. Files that wait and files that compute are in different shards.
 */
export function shardsOf(files, costOf, longest = SHARD_SECONDS) {
  const costs = files.map((file) => ({ file, ...costOf(file) }));
  const waits = ({ processorSeconds, seconds }) => processorSeconds < WAITS_BELOW * seconds;
  return [
    ...divide(costs.filter(waits), WAITING_SHARD_SECONDS),
    ...divide(
      costs.filter((cost) => !waits(cost)),
      longest,
    ),
  ];
}

/** All files in one shard. */
export function oneShard(files, costOf) {
  return divide(
    files.map((file) => ({ file, ...costOf(file) })),
    Infinity,
  )[0];
}

/** Neighbours stay together, because they load the same modules. */
function divide(costs, longest) {
  const total = costs.reduce((sum, { seconds }) => sum + seconds, 0);
  const target = total / Math.max(1, Math.ceil(total / longest));
  const shards = [];
  let end = 0;
  let before = 0;
  for (const { file, processorSeconds, seconds } of costs) {
    if (before + seconds / 2 >= end) {
      shards.push({ files: [], processorSeconds: 0, seconds: 0 });
      end = before + target;
    }
    const shard = shards.at(-1);
    shard.files.push(file);
    shard.processorSeconds += processorSeconds;
    shard.seconds += seconds;
    before += seconds;
  }
  return shards;
}
