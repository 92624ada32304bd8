#!/bin/bash
#BSUB -J train
#BSUB -n 4
#BSUB -R "span[ptile=2]"
#BSUB -W 60
# Four ranks, two on each host. Elsewhere than on IBM's systems with jsrun:
#   mpirun -n 4 node train.mjs
export ACC_JOB_TOKEN="$LSB_JOBID-$RANDOM"
jsrun -n 4 -a 1 -c 1 node train.mjs
