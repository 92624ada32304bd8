import { counted } from '@acc/contract';
import { shellWord, shellWords } from '../shell-word.js';
import type { ClusterJob } from './job.js';

/**
 * A batch script for Slurm: one `acc launch` on each host. It finds `acc` in the folder from which
 * it is submitted.
 */
export function slurmScript(job: ClusterJob): string {
  const { name, nnodes, nproc, threads, options, program } = job;
  const launch = [
    `exec acc launch -n ${nproc} --threads "$((SLURM_CPUS_PER_TASK / ${nproc}))"`,
    '--nnodes "$SLURM_NNODES" --node-rank "$SLURM_NODEID" --rdzv-endpoint "$ACC_ENDPOINT"',
    ...(options.length > 0 ? [shellWords(options)] : []),
    '"$@"',
  ];
  return `#!/bin/sh
# ${counted(nnodes, 'host')} with ${counted(nproc, 'rank')} each. Submit it in the folder of the program: sbatch FILE
# Options of sbatch before FILE replace those here: sbatch --partition=gpu --time=2:00:00 FILE
# To save a checkpoint before the time is over: sbatch --signal=USR1@120 FILE
#SBATCH --job-name=${name}
#SBATCH --nodes=${nnodes}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=${nproc * (threads ?? 1)}
set -eu

PATH="$PWD/node_modules/.bin:$PATH"
# Rank 0 runs on the first host. Jobs that share it have ports of their own.
ACC_ENDPOINT="$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1):$((20000 + SLURM_JOB_ID % 10000))"
# A secret of this job, with which its ranks recognise each other.
ACC_JOB_TOKEN="$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')"
export PATH ACC_ENDPOINT ACC_JOB_TOKEN

srun --ntasks="$SLURM_NNODES" --ntasks-per-node=1 --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=1 \\
  sh -c ${shellWord(launch.join(' \\\n    '))} acc ${shellWords(program)}
`;
}
