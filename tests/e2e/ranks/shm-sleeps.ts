// The part of a core that this rank takes while ranks 0 and 1 wait for each other in shared memory.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { GroupCollective, joinGroup, nativeBridge } from '@acc/collective';
import { reportResult, startedRank } from '@acc/testkit';

// All threads of this process have two cores, before the group looks at the cores of its ranks.
const [, allowed] = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))!;
const cores = allowed!.split(',').flatMap((range) => {
  const [first, last = first] = range.split('-').map(Number);
  return [first!, Math.min(first! + 1, last!)];
});
const two = [...new Set(cores)].slice(0, 2).join(',');
execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', two, `${process.pid}`]);

const started = startedRank();
const joined = await joinGroup({ ...started, engine: 'shm', timeoutMs: 60_000, joinTimeoutMs: 60_000 });
const collective = new GroupCollective({ joined, bridge: nativeBridge });
// Ranks 0 and 1 have a group of their own, and rank 1 is late by less time than ranks spin.
const pair = collective.subgroup([0, 1]);
const late = new Int32Array(new SharedArrayBuffer(4));
const [start, before] = [performance.now(), process.cpuUsage()];
for (let i = 0; i < 200 && pair; i++) {
  if (started.rank === 1) Atomics.wait(late, 0, 0, 1);
  pair.barrier();
}
const { user, system } = process.cpuUsage(before);
reportResult((user + system) / 1000 / (performance.now() - start));
